// SPDX-License-Identifier: Apache-2.0
#include "isolation/remote_capsule.hpp"

#include <fenv.h>
#include <pthread.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "batching/batch_observer.hpp"
#include "capsule/call_observer.hpp"
#include "capsule/current_capsule.hpp"
#include "capsule/fake_capsule.hpp"
#include "isolation/thread_link.hpp"
#include "isolation/wire_examples.hpp"
#include "support/bounded_wait.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/batching/batch_stream_scope.hpp"
#include "vcap/capsule/base_backend.hpp"
#include "vcap/capsule/stream_parameters.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Json = nlohmann::json;

/// A capsule whose code runs in threads of its own.
std::unique_ptr<Capsule> remote(CapsuleInfo info, std::unique_ptr<BaseCapsule> author,
                                Capsule::Setup setup = {.devices = {"CPU:0"}}) {
  CapsuleInfo copy = info;
  CapsuleCode code = remote_capsule(
      std::move(copy), thread_link({.info = std::move(info), .author = std::move(author)}));
  return std::make_unique<Capsule>(std::move(code.info), std::move(code.author), std::move(setup));
}

std::unique_ptr<Capsule> remote(CapsuleInfo info, FakeBackend::Process process) {
  return remote(std::move(info), author_of([process](const CapsuleFiles&, const std::string&) {
                  auto backend = std::make_unique<FakeBackend>();
                  backend->process = process;
                  return backend;
                }));
}

template <class Own>
std::unique_ptr<Capsule> remote_of(CapsuleInfo info) {
  return remote(std::move(info), author_of([](auto&&...) { return std::make_unique<Own>(); }));
}

CapsuleInfo any_output(CapsuleInfo info = detector_info()) {
  info.input_type = {.size = NodeDescription::Size::all};
  info.output_type = {.size = NodeDescription::Size::all, .detections = {"person"}};
  return info;
}

// Frames

TEST(RemoteCapsule, GivesNodesAndFramesWithoutCopyingPixels) {
  const Frame frame = full_frame();
  Frame given = frame;
  given.is_null = false;
  CapsuleInfo info = any_output();
  info.takes_pictures = {{.name = "depth", .type = CV_16UC1, .size = PictureSize::any}};
  const uchar* seen = nullptr;
  const uchar* depth = nullptr;
  const auto capsule =
      remote(info, [&](const Frame& got, DetectionNodes nodes, const auto&, BaseStreamState&) {
        seen = got.image.data;
        depth = got.pictures.at("depth").data;
        EXPECT_EQ(got.index, frame.index);
        return nodes;
      });
  const DetectionNodes nodes = DetectionNodes::all(
      {{.name = "person", .coords = {{0, 0}, {1, 1}, {0, 1}}, .extra_data = {{"a", 1}}}});
  EXPECT_EQ(capsule->process_frame(given, nodes), nodes);
  EXPECT_EQ(seen, frame.image.data);
  EXPECT_EQ(depth, frame.pictures.at("depth").data);
}

TEST(RemoteCapsule, GivesOptions) {
  std::vector<double> thresholds;
  const auto capsule = remote(
      detector_info(), [&](const Frame&, DetectionNodes, const OptionValues& options, auto&) {
        thresholds.push_back(options.get<double>("threshold"));
        static_cast<void>(options.get<double>("other"));
        return DetectionNodes::all();
      });
  OptionValues options = capsule->default_options();
  options.set("threshold", 0.25);
  // The words are those of an author's object in the process.
  const auto unknown =
      ThrowsError<OptionError>(ErrorCode::unknown_option, HasSubstr("capsule detector_fake"));
  EXPECT_THAT([&] { capsule->process_frame(frame_at(0), {}, options); }, unknown);
  EXPECT_THAT([&] { capsule->process_frame(frame_at(1)); }, unknown);
  EXPECT_THAT(thresholds, ElementsAre(0.25, 0.5));
}

/// Sums the indices of what it gets together.
class Together final : public Backend {
 public:
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    return sum(frame.index, 1);
  }
  std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                            std::span<DetectionNodes> nodes,
                                                            const OptionValues&,
                                                            BaseStreamState&) override {
    if (frames.front().index == 100) return {};
    std::vector<DetectionNodes> results;
    for (std::size_t i = 0; i < frames.size(); ++i)
      results.push_back(sum(frames[i].index, nodes[i].size()));
    return results;
  }
  DetectionNodes process_window(std::span<const Frame> frames, std::span<DetectionNodes> nodes,
                                const OptionValues&, BaseStreamState&) override {
    std::int64_t indices = 0;
    for (const Frame& frame : frames) indices += frame.is_null ? 1000 : frame.index;
    return sum(indices, nodes.size());
  }
  std::optional<std::vector<DetectionNodes>> process_windows(std::span<const FrameWindow> windows,
                                                             const OptionValues&,
                                                             BaseStreamState&) override {
    if (windows.front().frames.front().index == 100) return {};
    std::vector<DetectionNodes> results;
    for (const FrameWindow& window : windows)
      results.push_back(sum(window.frames.back().index, window.nodes.size()));
    return results;
  }

 private:
  static DetectionNodes sum(std::int64_t indices, std::size_t nodes) {
    return DetectionNodes::all(
        {{.name = "person", .extra_data = {{"indices", indices}, {"nodes", nodes}}}});
  }
};

std::vector<std::pair<std::int64_t, std::int64_t>> sums(std::span<const DetectionNodes> results) {
  std::vector<std::pair<std::int64_t, std::int64_t>> list;
  for (const DetectionNodes& one : results)
    list.emplace_back(one[0].extra_data["indices"].get<std::int64_t>(),
                      one[0].extra_data["nodes"].get<std::int64_t>());
  return list;
}

TEST(RemoteCapsule, GivesFramesTogether) {
  CapsuleInfo info = any_output();
  info.batch = BatchSizes{.maximum = 4};
  const auto capsule = remote_of<Together>(info);
  std::vector<Frame> frames{frame_at(5), frame_at(6)};
  std::vector<DetectionNodes> nodes{DetectionNodes::all(),
                                    DetectionNodes::all({{.name = "a"}, {.name = "b"}})};
  const auto results = capsule->process_frames(frames, nodes, {}, "a");
  ASSERT_TRUE(results);
  EXPECT_THAT(sums(*results), ElementsAre(Pair(5, 0), Pair(6, 2)));
  frames.front().index = 100;
  EXPECT_FALSE(capsule->process_frames(frames, nodes, {}, "a"));
  EXPECT_THAT(nodes[1], SizeIs(2)) << "they are still there for process_frame";
}

TEST(RemoteCapsule, GivesWindows) {
  CapsuleInfo info = any_output();
  info.batch = BatchSizes{.maximum = 4};
  info.stencil = Stencil{.offsets = {-1, 0}, .edge = StencilEdge::null};
  const auto capsule = remote_of<Together>(info);
  const DetectionNodes alone = capsule->process_frame(frame_at(7), DetectionNodes::all());
  EXPECT_THAT(sums(std::span(&alone, 1)), ElementsAre(Pair(1007, 2)));

  std::vector<Frame> frames{frame_at(5), frame_at(6), frame_at(7)};
  std::vector<DetectionNodes> nodes(4, DetectionNodes::all());
  std::vector<FrameWindow> windows{
      {.frames = std::span(frames).subspan(0, 2), .nodes = std::span(nodes).subspan(0, 2)},
      {.frames = std::span(frames).subspan(1, 2), .nodes = std::span(nodes).subspan(2, 2)}};
  const auto present = std::span(frames).subspan(1);
  const auto results = capsule->process_windows(present, windows, {}, "a");
  ASSERT_TRUE(results);
  EXPECT_THAT(sums(*results), ElementsAre(Pair(6, 2), Pair(7, 2)));
  frames.front().index = 100;
  EXPECT_FALSE(capsule->process_windows(present, windows, {}, "a"));
}

TEST(RemoteCapsule, GivesEncodingsAndTheirDistances) {
  CapsuleInfo info = detector_info();
  info.output_type.encoded = true;
  info.recognition_threshold = 0.5;
  const auto capsule = remote(info, author_of([](auto&&...) {
                                auto backend = std::make_unique<FakeBackend>();
                                backend->compare = [](auto encoding, auto others) {
                                  std::vector<float> distances;
                                  for (const auto& other : others)
                                    distances.push_back(other.at(0) - encoding[0]);
                                  return distances;
                                };
                                return backend;
                              }));
  EXPECT_THAT(
      capsule->distances(std::vector<float>{1}, std::vector<std::vector<float>>{{3}, {1.5}}),
      ElementsAre(2, 0.5));
}

TEST(RemoteCapsule, BoundsTheLevelsOfItsOutputInTheSameWords) {
  const auto deep = [](const Frame&, DetectionNodes, const auto&, BaseStreamState&) {
    DetectionNode node{.name = "person"};
    for (int i = 0; i < 100'000; ++i) {
      DetectionNode parent{.name = "person"};
      parent.children.push_back(std::move(node));
      node = std::move(parent);
    }
    std::vector<DetectionNode> nodes;
    nodes.push_back(std::move(node));
    return DetectionNodes::all(std::move(nodes));
  };
  const auto text_of = [](const std::unique_ptr<Capsule>& capsule) {
    return std::string(error_of<Error>([&] {
                         capsule->process_frame(frame_at(0), DetectionNodes::all());
                       }).what());
  };
  EXPECT_EQ(text_of(remote(any_output(), deep)), text_of(make_capsule(any_output(), deep)));
}

// Exceptions

TEST(RemoteCapsule, ThrowsWhatItsCodeThrows) {
  const auto capsule = remote(detector_info(), [](const Frame& frame, auto&&...) -> DetectionNodes {
    if (frame.index == 0) throw std::out_of_range("its own words");
    if (frame.index == 1) throw EngineError(ErrorCode::inference_failed, "model a.onnx failed");
    throw 7;
  });
  EXPECT_THAT([&] { capsule->process_frame(frame_at(0)); },
              testing::ThrowsMessage<std::out_of_range>("its own words"));
  EXPECT_THAT([&] { capsule->process_frame(frame_at(1)); },
              ThrowsError<EngineError>(ErrorCode::inference_failed, "model a.onnx failed"));
  EXPECT_ANY_THROW(capsule->process_frame(frame_at(2)));
  EXPECT_EQ(capsule->backends().front().failures, 3u);
}

TEST(RemoteCapsule, SaysThatItsCodeHasEndedTheThread) {
  const auto capsule = remote(detector_info(), [](const Frame& frame, auto&&...) -> DetectionNodes {
    if (frame.index == 0) ::pthread_exit(nullptr);
    return DetectionNodes::all();
  });
  EXPECT_THAT([&] { capsule->process_frame(frame_at(0)); },
              ThrowsError<Error>(ErrorCode::misbehaving_capsule,
                                 HasSubstr("capsule detector_fake has ended the thread")));
  EXPECT_THAT(capsule->process_frame(frame_at(1)), IsEmpty());
}

TEST(RemoteCapsule, FailsToLoadInTheSameWords) {
  const auto load = [](const FakeCapsule::Load& make) {
    const auto text_of = [](const std::function<void()>& action) {
      return std::string(error_of<CapsuleLoadError>(action).what());
    };
    const auto devices = Capsule::Setup{.devices = {"GPU:0"}};
    const std::string there = text_of([&] { remote(detector_info(), author_of(make), devices); });
    EXPECT_EQ(there, text_of([&] { Capsule(detector_info(), author_of(make), devices); }));
    return there;
  };
  EXPECT_THAT(load([](auto&&...) -> std::unique_ptr<Backend> {
                throw std::runtime_error("no output \"boxes\"");
              }),
              HasSubstr("GPU:0: no output \"boxes\""));
  EXPECT_THAT(load([](auto&&...) { return nullptr; }), HasSubstr("returned null"));
}

// Loading and closing

/// Notes the calls it gets.
class Journal {
 public:
  void add(std::string what) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(what));
  }
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
};

class JournalBackend final : public Backend {
 public:
  explicit JournalBackend(Journal& journal) : journal_(journal) {}
  ~JournalBackend() override { journal_.add("~backend"); }
  void setup_with_resources(const CapsuleFiles& files) override {
    journal_.add("setup " + std::string(files.text("a.txt")));
  }
  void set_batch_sizes(const BatchSizes& sizes) override {
    journal_.add("sizes " + std::to_string(sizes.maximum));
  }
  void drain() override { journal_.add("drain"); }
  void close() noexcept override { journal_.add("close"); }

 private:
  Journal& journal_;
};

class JournalCapsule final : public BaseCapsule {
 public:
  explicit JournalCapsule(Journal& journal) : journal_(journal) {}
  ~JournalCapsule() override { journal_.add("~capsule"); }
  void fetch_resources(const CapsuleFiles& files) override {
    journal_.add("fetch " + std::string(files.text("a.txt")) + " " + config().dump() + " " +
                 std::to_string(stencil() ? stencil()->offsets.size() : 0));
  }
  std::unique_ptr<Backend> load_backend(const CapsuleFiles& files,
                                        const std::string& device) override {
    journal_.add("load " + std::string(files.text("a.txt")) + " " + device + " as " +
                 std::string(current_capsule()));
    return std::make_unique<JournalBackend>(journal_);
  }

 private:
  Journal& journal_;
};

TEST(RemoteCapsule, IsLoadedAndClosedAsOneInTheProcess) {
  CapsuleInfo info = detector_info();
  info.batch = BatchSizes{.maximum = 4};
  info.stencil = Stencil{.offsets = {-1, 0}};
  Journal journal;
  const std::string text = "content";
  remote(info, std::make_unique<JournalCapsule>(journal),
         {.files = CapsuleFiles({{"a.txt", std::as_bytes(std::span(text))}}, nullptr),
          .config = {{"key", 1}},
          .devices = {"CPU:0"}});
  EXPECT_THAT(
      journal.calls(),
      ElementsAre("fetch content {\"key\":1} 2", "load content CPU:0 as capsule detector_fake",
                  "sizes 4", "setup content", "drain", "close", "~backend", "~capsule"));
}

TEST(RemoteCapsule, MapsDevicesWithItsOwnCode) {
  CapsuleInfo info = detector_info();
  info.device_mapper = DeviceMapper("of_its_own", [](const std::vector<std::string>& devices) {
    return std::vector<std::string>{devices.at(1) + "+" + devices.at(0)};
  });
  const auto with_devices = [&](std::vector<std::string> devices) {
    return remote(info, author_of([](auto&&...) { return std::make_unique<FakeBackend>(); }),
                  {.devices = std::move(devices)});
  };
  EXPECT_THAT(with_devices({"CPU:0", "GPU:0"})->devices(), ElementsAre("GPU:0+CPU:0"));
  EXPECT_THAT([&] { with_devices({"CPU:0"}); },
              ThrowsError<CapsuleLoadError>(ErrorCode::capsule_threw,
                                            HasSubstr("device mapper of_its_own failed: ")));
}

TEST(RemoteCapsule, LogsWhatFailsWhileItIsClosed) {
  std::mutex mutex;
  std::string text;
  set_log_hook([&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    text += std::string(line) + '\n';
  });
  remote(detector_info(), author_of([](auto&&...) {
           auto backend = std::make_unique<FakeBackend>();
           backend->on_drain = [] { throw std::runtime_error("it is stuck"); };
           return backend;
         }));
  set_log_hook({});
  EXPECT_THAT(text, HasSubstr("the backend on CPU:0 failed while it was drained: it is stuck"));
}

TEST(RemoteCapsule, RefusesFunctionsOfItsDescriptionOnceItIsGone) {
  CapsuleInfo info = detector_info();
  info.stream_state = make_stream_state<BaseStreamState>();
  CapsuleInfo kept = remote(info, [](auto&&...) { return DetectionNodes::all(); })->info();
  EXPECT_THAT([&] { static_cast<void>(kept.stream_state({})); },
              ThrowsError<BatchError>(ErrorCode::closed, HasSubstr("detector_fake is closed")));
}

// States and parameters

struct CountingState final : BaseStreamState {
  explicit CountingState(const StreamInfo& info)
      : first(info.saved.is_null() ? info.config.value("first", 0) : info.saved.get<int>()) {
    ++alive;
  }
  ~CountingState() override { --alive; }
  Json save() const override { return first + frames; }

  static inline std::atomic<int> alive = 0;
  const int first;
  int frames = 0;
};

CapsuleInfo counting_info() {
  CapsuleInfo info = detector_info();
  info.stream_state = make_stream_state<CountingState>();
  return info;
}

DetectionNodes count(const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
  auto& counting = state_of<CountingState>(state);
  ++counting.frames;
  return DetectionNodes::all(
      {{.name = "person", .extra_data = {{"count", counting.first + counting.frames}}}});
}

int counted_by(Capsule& capsule, StreamRef stream, std::int64_t index,
               Discontinuity discontinuity = Discontinuity::none) {
  return capsule.process_frame(frame_at(index, discontinuity), {}, {}, stream)[0]
      .extra_data["count"]
      .get<int>();
}

TEST(RemoteCapsule, KeepsSavesAndDropsStates) {
  const auto capsule = remote(counting_info(), count);
  const auto opening = capsule->open_stream({.id = "a", .config = {{"first", 10}}});
  EXPECT_EQ(counted_by(*capsule, opening, 0), 11);
  EXPECT_EQ(counted_by(*capsule, "a", 1), 12);
  EXPECT_EQ(counted_by(*capsule, "b", 0), 1);
  EXPECT_EQ(capsule->save_state("a"), 12);
  EXPECT_EQ(CountingState::alive, 2);
  EXPECT_EQ(counted_by(*capsule, "b", 1, Discontinuity::gap), 1) << "it begins anew";
  capsule->clean_up("b");
  EXPECT_EQ(CountingState::alive, 1);
  const auto later =
      capsule->open_apart({.id = "a", .saved = capsule->save_state("a"), .saved_by = 1});
  EXPECT_EQ(counted_by(*capsule, later, 2), 13);
  capsule->close();
  EXPECT_EQ(CountingState::alive, 2) << "of the handles, which are not dropped yet";
}

TEST(RemoteCapsule, DropsStatesThatOutliveIt) {
  StreamHandle opening;
  {
    const auto capsule = remote(counting_info(), count);
    opening = capsule->open_stream({.id = "a"});
    counted_by(*capsule, opening, 0);
  }
  EXPECT_EQ(CountingState::alive, 1);
  opening.reset();
  EXPECT_EQ(CountingState::alive, 0);
}

TEST(RemoteCapsule, ExplainsWrongAndMissingStatesInTheSameWords) {
  const auto text_of = [](const CapsuleInfo& info, bool is_remote) {
    const auto capsule = is_remote ? remote(info, count) : make_capsule(info, count);
    return std::string(
        error_of<Error>([&] { capsule->process_frame(frame_at(0), {}, {}, "a"); }).what());
  };
  CapsuleInfo without = detector_info();
  CapsuleInfo other = detector_info();
  other.stream_state = make_stream_state<BaseStreamState>();
  CapsuleInfo null = detector_info();
  null.stream_state = [](const StreamInfo&) { return nullptr; };
  CapsuleInfo failing = detector_info();
  failing.stream_state = [](const StreamInfo&) -> std::unique_ptr<BaseStreamState> {
    throw std::runtime_error("no room");
  };
  for (const CapsuleInfo& info : {without, other, null, failing})
    EXPECT_EQ(text_of(info, true), text_of(info, false));
}

struct Thresholds final : BaseStreamParameters {
  explicit Thresholds(const StreamInfo& info) : least(info.config.value("least", 1)) {}
  const int least;
};

TEST(RemoteCapsule, GivesTheParametersOfStreams) {
  CapsuleInfo info = detector_info();
  info.stream_parameters = make_stream_parameters<Thresholds>();
  const auto capsule = remote(info, [](const Frame&, DetectionNodes, const auto&,
                                       BaseStreamState& state) {
    return DetectionNodes::all(
        {{.name = "person", .extra_data = {{"least", parameters_of<Thresholds>(state).least}}}});
  });
  capsule->open_stream({.id = "a", .config = {{"least", 5}}});
  const auto least = [&](const char* stream) {
    return capsule->process_frame(frame_at(0), {}, {}, stream)[0].extra_data["least"].get<int>();
  };
  EXPECT_EQ(least("a"), 5);
  EXPECT_EQ(least("b"), 1);
}

// What belongs to the thread of a call

TEST(RemoteCapsule, HasTheStreamAndTheFloatingPointModesOfItsCaller) {
  std::uint64_t stream = 0;
  int rounding = 0;
  int later = 0;
  const auto capsule = remote(detector_info(), [&](const Frame& frame, auto&&...) {
    stream = BatchStreamScope::current();
    (frame.index == 0 ? rounding : later) = ::fegetround();
    EXPECT_EQ(current_capsule(), "capsule detector_fake");
    return DetectionNodes::all();
  });
  ::fesetround(FE_UPWARD);
  capsule->process_frame(frame_at(0), {}, {}, "gate");
  ::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(stream, (BatchStreamScope("gate"), BatchStreamScope::current()));
  capsule->process_frame(frame_at(1));
  EXPECT_EQ(later, FE_TONEAREST);
}

/// Sends the index in a batch, and waits until the test lets the first batch go on.
class Batching final : public BaseBackend<std::int64_t, std::int64_t> {
 public:
  explicit Batching(std::function<void(std::size_t)> on_batch) : on_batch_(std::move(on_batch)) {}
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    return DetectionNodes::all(
        {{.name = "person", .extra_data = {{"result", predict(frame.index)}}}});
  }
  std::vector<std::int64_t> batch_predict(std::span<const std::int64_t> inputs) override {
    on_batch_(inputs.size());
    std::vector<std::int64_t> outputs;
    for (const std::int64_t input : inputs) outputs.push_back(2 * input);
    return outputs;
  }

 private:
  const std::function<void(std::size_t)> on_batch_;
};

std::unique_ptr<Capsule> batching(std::function<void(std::size_t)> on_batch) {
  return remote(detector_info(),
                author_of([on_batch](auto&&...) { return std::make_unique<Batching>(on_batch); }));
}

std::int64_t predicted(Capsule& capsule, std::int64_t index) {
  return capsule.process_frame(frame_at(index))[0].extra_data["result"].get<std::int64_t>();
}

TEST(RemoteCapsule, GathersRequestsOfConcurrentCallsInBatches) {
  constexpr int kFrames = 8;
  Latch release;
  std::atomic<std::size_t> largest = 0;
  std::atomic<int> batches = 0;
  const auto capsule = batching([&](std::size_t size) {
    largest = std::max(largest.load(), size);
    if (++batches == 1) release.wait("the release of the first batch");
  });
  std::vector<std::jthread> threads;
  for (int i = 0; i < kFrames; ++i)
    threads.emplace_back([&capsule, i] { EXPECT_EQ(predicted(*capsule, i), 2 * i); });
  yield_until("all requests", [&] {
    const auto statistics = capsule->backends().front().batches;
    return statistics && statistics->accepted == kFrames;
  });
  EXPECT_GE(capsule->workload(), kFrames);
  release.open();
  threads.clear();
  EXPECT_GE(largest, 4u);
  EXPECT_EQ(capsule->backends().front().batches->answered, kFrames);
}

/// Counts the batches that begin and end.
class CountingObserver final : public detail::BatchObserver {
 public:
  std::size_t begin(std::size_t items) noexcept override {
    items_ += items;
    return 1000 + begun_++;
  }
  void end(std::size_t batch) noexcept override {
    if (batch >= 1000) ++ended_;
  }
  std::size_t items() const { return items_; }
  std::size_t ended() const { return ended_; }

 private:
  std::atomic<std::size_t> items_ = 0, begun_ = 0, ended_ = 0;
};

/// A call whose batches that observer sees.
class ObservedCall final : public detail::CallObserver {
 public:
  explicit ObservedCall(std::shared_ptr<detail::BatchObserver> batches)
      : batches_(std::move(batches)) {}
  std::shared_ptr<detail::BatchObserver> begin(const std::string&) noexcept override {
    return batches_;
  }
  void end() noexcept override {}

 private:
  const std::shared_ptr<detail::BatchObserver> batches_;
};

TEST(RemoteCapsule, ReportsItsBatchesToTheObserverOfTheCall) {
  const auto capsule = batching([](std::size_t) {});
  const auto observer = std::make_shared<CountingObserver>();
  ObservedCall call(observer);
  for (int i = 0; i < 3; ++i) {
    const detail::CallObserverScope observed(call);
    predicted(*capsule, i);
  }
  predicted(*capsule, 3);
  EXPECT_EQ(observer->items(), 3u);
  yield_until("the end of the batches", [&] { return observer->ended() == 3; });
}

TEST(RemoteCapsule, AsksForItsWorkloadOnlyBriefly) {
  Latch release;
  std::atomic<bool> hangs = false;
  const auto capsule = remote(detector_info(), author_of([&](auto&&...) {
                                auto backend = std::make_unique<FakeBackend>();
                                backend->load = [&] {
                                  if (hangs) release.wait("the end of the test");
                                  return 3.5;
                                };
                                return backend;
                              }));
  EXPECT_EQ(capsule->workload(), 3.5);
  hangs = true;
  EXPECT_EQ(capsule->workload(), 3.5) << "the last that was known";
  release.open();
}

// Threads

TEST(RemoteCapsule, AnswersEveryCallWhileStreamsComeAndGoAndItIsClosed) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr int kThreads = 4;
  for (int round = 0; round < 20; ++round) {
    const auto capsule = remote(counting_info(), count);
    std::atomic<int> answered = 0;
    std::atomic<int> refused = 0;
    constexpr int kFrames = 50;
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        std::mt19937 random(seed + static_cast<unsigned>(1000 * round + i));
        for (int frame = 0; frame < kFrames; ++frame) {
          const std::string stream(1, static_cast<char>('a' + random() % 3));
          try {
            counted_by(*capsule, stream, frame);
            ++answered;
          } catch (const BatchError& error) {
            EXPECT_EQ(error.code(), ErrorCode::closed);
            ++refused;
          }
          if (random() % 10 == 0) capsule->clean_up(stream);
          if (random() % 10 == 0) static_cast<void>(capsule->backends());
        }
      });
    std::mt19937 random(seed + static_cast<unsigned>(round));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    if (round % 2 == 1) capsule->close();
    threads.clear();
    EXPECT_EQ(answered + refused, kThreads * kFrames);
  }
  EXPECT_EQ(CountingState::alive, 0);
}

}  // namespace
}  // namespace vcap::test
