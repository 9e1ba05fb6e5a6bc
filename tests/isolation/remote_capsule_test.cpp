// SPDX-License-Identifier: Apache-2.0
// Tests of loading, frames and exceptions; those of states and of threads have files of their own.
#include "isolation/remote_capsule.hpp"

#include <gmock/gmock.h>
#include <pthread.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "capsule/current_capsule.hpp"
#include "isolation/remote_fixtures.hpp"
#include "isolation/wire_examples.hpp"
#include "support/nested_nodes.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

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
    return nested_persons(100'000);
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

}  // namespace
}  // namespace vcap::test
