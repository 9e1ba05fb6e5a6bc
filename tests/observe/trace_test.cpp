// SPDX-License-Identifier: Apache-2.0
#include "vcap/observe/trace.hpp"
#include "support/isolated_capsule.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/file_size_limit.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/base_backend.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Place = std::pair<int, int>;  ///< process and lane

constexpr int kStreams = 1;
constexpr int kCapsules = 2;
constexpr int kDevices = 3;

struct Slice {
  std::string lane;
  std::string name;
  double begin;
  double end;
  nlohmann::json args;
};

/// Reads a trace as a viewer does; every fault in it fails the test.
class ReadTrace {
 public:
  explicit ReadTrace(const fs::path& path) {
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file);
    for (const nlohmann::json& event : json.at("traceEvents"))
      if (event.at("ph") == "M" && event.at("name") == "thread_name")
        lanes_[place_of(event)] = event.at("args").at("name");
    std::vector<nlohmann::json> arrows;
    for (const nlohmann::json& event : json.at("traceEvents")) {
      const std::string phase = event.at("ph");
      if (phase == "X") add_slice(event);
      if (phase == "i") instants_.push_back(event);
      if (phase == "s" || phase == "t" || phase == "f") arrows.push_back(event);
    }
    expect_disjoint();
    for (const nlohmann::json& arrow : arrows) add_arrow(arrow);
  }

  /// The slices of a process, sorted by their begin.
  std::vector<Slice> slices(int process) const {
    std::vector<Slice> found;
    for (const auto& [place, slices] : slices_)
      if (place.first == process) found.insert(found.end(), slices.begin(), slices.end());
    std::ranges::sort(found, {}, &Slice::begin);
    return found;
  }
  std::set<std::string> lanes(int process) const {
    std::set<std::string> names;
    for (const auto& [place, name] : lanes_)
      if (place.first == process) names.insert(name);
    return names;
  }
  const std::vector<nlohmann::json>& instants() const { return instants_; }

  /// Each recorded frame has a reading, a delivery, and that many calls between them. Each call has
  /// an arrow to a device.
  void expect_arrows(std::size_t recorded, std::size_t calls) const {
    std::size_t whole = 0;
    for (const auto& [id, phases] : arrows_) {
      EXPECT_EQ(std::ranges::count(phases, 's'), 1) << "frame " << id;
      if (std::ranges::count(phases, 'f') == 0) continue;  // dropped
      ++whole;
      EXPECT_EQ(std::ranges::count(phases, 'f'), 1) << "frame " << id;
      EXPECT_EQ(std::ranges::count(phases, 't'), static_cast<std::ptrdiff_t>(calls))
          << "frame " << id;
      EXPECT_EQ(std::ranges::count(phases, 'd'), static_cast<std::ptrdiff_t>(calls))
          << "frame " << id;
    }
    EXPECT_EQ(whole, recorded);
  }

 private:
  static Place place_of(const nlohmann::json& event) { return {event.at("pid"), event.at("tid")}; }

  void add_slice(const nlohmann::json& event) {
    const Place place = place_of(event);
    EXPECT_TRUE(lanes_.contains(place)) << event;
    EXPECT_GE(event.at("ts"), 0) << event;
    EXPECT_GE(event.at("dur"), 0) << event;
    const double begin = event.at("ts");
    slices_[place].push_back({.lane = lanes_[place],
                              .name = event.at("name"),
                              .begin = begin,
                              .end = begin + event.at("dur").get<double>(),
                              .args = event.at("args")});
  }

  void expect_disjoint() {
    for (auto& [place, slices] : slices_) {
      std::ranges::sort(slices, {}, &Slice::begin);
      for (std::size_t i = 1; i < slices.size(); ++i)
        EXPECT_LE(slices[i - 1].end, slices[i].begin + 0.0005) << slices[i].lane;  // rounded
    }
  }

  void add_arrow(const nlohmann::json& event) {
    const double at = event.at("ts");
    const auto& slices = slices_[place_of(event)];
    EXPECT_TRUE(std::ranges::any_of(slices, [&](const Slice& slice) {
      return slice.begin <= at && at <= slice.end;
    })) << event;
    EXPECT_EQ(event.at("bp"), "e");
    EXPECT_EQ(event.at("cat"), "frame");
    const char phase = event.at("ph").get<std::string>()[0];
    const bool on_device = event.at("pid") == kDevices;
    if (on_device) {
      EXPECT_EQ(phase, 't');
    }
    arrows_[event.at("id")].push_back(on_device ? 'd' : phase);
  }

  std::map<Place, std::string> lanes_;
  std::map<Place, std::vector<Slice>> slices_;
  std::map<std::uint64_t, std::vector<char>> arrows_;
  std::vector<nlohmann::json> instants_;
};

class Squarer final : public BaseBackend<int, int> {
 public:
  DetectionNodes process_frame(const Frame&, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    predict_all(std::vector<int>{1, 2, 3});
    return DetectionNodes::all();
  }
  std::vector<int> batch_predict(std::span<const int> inputs) override {
    return {inputs.begin(), inputs.end()};
  }
};

class SquarerCapsule final : public BaseCapsule {
 public:
  std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
    return std::make_unique<Squarer>();
  }
};

/// The trace is written in blocks of at least that many bytes.
constexpr std::uintmax_t kBlock = 256 << 10;
/// Their events take several blocks.
constexpr std::int64_t kFramesOfBlocks = 2000;

/// A trace that was not closed lacks only its end.
void expect_whole_events(const fs::path& part) {
  const nlohmann::json json = nlohmann::json::parse(read_file(part) + "]}");
  EXPECT_GT(json.at("traceEvents").size(), 1000u);
}

class TraceTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const fs::path path_ = folder_ / "trace.json";
  const fs::path part_ = folder_ / "trace.json.part";
  std::shared_ptr<Trace> trace_ = std::make_shared<Trace>(path_);
};

TEST_F(TraceTest, IsWrittenByAPipeline) {
  const fs::path path = folder_ / "gate.json";
  // [trace]
  const auto trace = std::make_shared<vcap::Trace>(path);
  vcap::Pipeline pipeline({make_detector("people", "person")}, {.trace = trace});
  pipeline.open_stream({.id = "gate", .source = make_source(10)});
  pipeline.wait("gate");
  trace->close();
  // [/trace]
  ReadTrace(path).expect_arrows(10, 1);
}

TEST_F(TraceTest, ShowsTheWayOfEachFrame) {
  CapsuleInfo squarer = detector_info("squarer", "number");
  squarer.version = 7;
  Pipeline pipeline({make_detector("people", "person"),
                     test::kept_capsule_of(squarer, std::make_unique<SquarerCapsule>(),
                                           Capsule::Setup{.devices = {"CPU:0"}})},
                    {.trace = trace_});
  run(pipeline, {.id = "gate", .source = make_source(20)});
  trace_->close();

  const ReadTrace trace(path_);
  trace.expect_arrows(20, 2);
  EXPECT_THAT(trace.lanes(kStreams), ElementsAre("gate: read", "gate: record"));
  EXPECT_THAT(trace.slices(kStreams), SizeIs(40));
  EXPECT_THAT(trace.slices(kCapsules), SizeIs(40));
  EXPECT_TRUE(trace.lanes(kCapsules).contains("people #1"));
  EXPECT_TRUE(trace.lanes(kCapsules).contains("squarer #1"));
  const Slice call = trace.slices(kCapsules).front();
  EXPECT_THAT(call.name, HasSubstr("frame "));
  EXPECT_EQ(call.args.at("stream"), "gate");
  EXPECT_GE(call.args.at("version"), 1);

  std::size_t calls = 0;
  std::size_t items = 0;
  for (const Slice& slice : trace.slices(kDevices)) {
    if (slice.lane.starts_with("CPU:0 batches #")) {
      EXPECT_EQ(slice.name, "squarer");
      items += slice.args.at("size").get<std::size_t>();
    } else {
      EXPECT_THAT(slice.lane, HasSubstr(" calls #"));
      ++calls;
    }
  }
  EXPECT_EQ(calls, 40u);
  EXPECT_EQ(items, 60u);
}

TEST_F(TraceTest, UsesAsManyLanesAsCallsOverlap) {
  std::atomic<int> inside{0};
  Pipeline pipeline(
      {make_capsule(detector_info("pair", "person"),
                    [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
                      // Every odd call waits until the next one has begun.
                      const int one = ++inside;
                      yield_until("the next call", [&] { return inside >= one + one % 2; });
                      return DetectionNodes::all();
                    })},
      {.workers = 2, .trace = trace_});
  run(pipeline, {.source = make_source(20)});
  trace_->close();
  EXPECT_THAT(ReadTrace(path_).lanes(kCapsules), ElementsAre("pair #1", "pair #2"));
}

TEST_F(TraceTest, ShowsWhyFramesWereDropped) {
  Pipeline pipeline({make_detector("people", "person")}, {.trace = trace_});
  run(pipeline, {.source = make_source(10), .keep_every = 2});
  trace_->close();
  const ReadTrace trace(path_);
  trace.expect_arrows(5, 1);
  ASSERT_THAT(trace.instants(), SizeIs(5));
  for (const nlohmann::json& instant : trace.instants()) {
    EXPECT_EQ(instant.at("name"), "dropped: skipped");
    EXPECT_EQ(instant.at("args").at("frame").get<int>() % 2, 1);
  }
}

TEST_F(TraceTest, EscapesNames) {
  Pipeline pipeline({make_detector("people", "person")}, {.trace = trace_});
  const std::string id = "a\"b\\c\nd";
  run(pipeline, {.id = id, .source = make_source(1)});
  run(pipeline, {.id = "bad \xff byte", .source = make_source(1)});
  trace_->close();
  EXPECT_THAT(ReadTrace(path_).lanes(kStreams),
              ElementsAre(id + ": read", id + ": record", "bad \uFFFD byte: read",
                          "bad \uFFFD byte: record"));
}

TEST_F(TraceTest, RecordsStreamsThatComeAndGo) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 8;
  constexpr int kFrames = 40;
  Pipeline pipeline({make_detector("people", "person")}, {.trace = trace_});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRounds; ++i) {
          const std::string id = "stream " + std::to_string(t);
          pipeline.open_stream({.id = id, .source = make_source(kFrames)});
          pipeline.wait(id);
        }
      });
  }
  trace_->close();
  ReadTrace(path_).expect_arrows(kThreads * kRounds * kFrames, 1);
}

TEST_F(TraceTest, IsCompleteWhenItIsClosedWhileFramesAreInFlight) {
  Pipeline pipeline({make_detector("people", "person")}, {.trace = trace_});
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source(), .pull = true});
  const cv::Mat image(4, 4, CV_8UC3, cv::Scalar::all(0));
  feed.push(image);
  pipeline.next("gate");
  feed.push(image);
  trace_->close();
  trace_->close();
  EXPECT_TRUE(pipeline.next("gate"));
  feed.push(image);
  EXPECT_TRUE(pipeline.next("gate"));
  feed.end();
  ReadTrace(path_).expect_arrows(1, 1);
}

TEST_F(TraceTest, LeavesNoFileIfItIsNotClosed) {
  const std::shared_ptr<Capsule> capsule = make_detector("people", "person");
  for (const std::int64_t frames : {std::int64_t{3}, kFramesOfBlocks}) {
    if (!trace_) trace_ = std::make_shared<Trace>(path_);
    {
      Pipeline pipeline({capsule}, {.trace = std::exchange(trace_, nullptr)});
      run(pipeline, {.source = make_source(frames)});
      EXPECT_FALSE(fs::exists(path_));
    }
    EXPECT_TRUE(fs::is_empty(path_.parent_path())) << frames << " frames";
  }
}

TEST_F(TraceTest, GrowsAsAPartInWholeEvents) {
  Pipeline pipeline({make_detector("people", "person")}, {.trace = trace_});
  run(pipeline, {.source = make_source(kFramesOfBlocks)});
  // What a process that is killed now would leave.
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_GE(fs::file_size(part_), kBlock);
  expect_whole_events(part_);
  trace_->close();
  EXPECT_FALSE(fs::exists(part_));
  ReadTrace(path_).expect_arrows(kFramesOfBlocks, 1);
}

TEST_F(TraceTest, KeepsWholeEventsOnAFullDisk) {
  Pipeline pipeline({make_detector("people", "person")}, {.trace = trace_});
  {
    const FileSizeLimit limit(kBlock + kBlock / 2);
    run(pipeline, {.source = make_source(kFramesOfBlocks)});
    EXPECT_THAT(
        [&] { trace_->close(); },
        (ThrowsError<OutputError>(ErrorCode::output_write,
                                  HasSubstr("what was written is kept in " + part_.string()))));
  }
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_GE(fs::file_size(part_), kBlock);
  expect_whole_events(part_);
}

TEST_F(TraceTest, EndsNoStreamWhenItCannotBeWritten) {
  Pipeline pipeline({make_detector("people", "person")}, {.trace = trace_});
  {
    const FileSizeLimit limit(64 << 10);
    run(pipeline, {.source = make_source(kFramesOfBlocks)});
    EXPECT_THAT([&] { trace_->close(); },
                (ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("trace.json"))));
  }
  EXPECT_TRUE(fs::is_empty(path_.parent_path()));
}

TEST_F(TraceTest, NeedsAnExistingFolder) {
  EXPECT_THAT([&] { Trace(folder_ / "nowhere" / "trace.json"); },
              (ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("nowhere"))));
}

}  // namespace
}  // namespace vcap::test
