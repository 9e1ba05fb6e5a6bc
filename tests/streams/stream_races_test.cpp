// SPDX-License-Identifier: Apache-2.0
// Threads open, push, pull, set options, replace, fail and close at the same time on one pipeline.
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/pipeline_helpers.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

constexpr int kActors = 4;
constexpr int kOperations = 3000;  // of each thread

/// Throws if the first pixel of a frame is 1 and `strict` is set; otherwise counts the frame.
std::shared_ptr<Capsule> marker(int version, bool stateful) {
  CapsuleInfo info = detector_info("marker", "mark");
  info.version = version;
  info.options = {{"strict", BoolOption{.default_value = true}}};
  if (stateful) info.stream_state = make_stream_state<CountingState>();
  return make_capsule(info, [version](const Frame& frame, DetectionNodes,
                                      const OptionValues& values, BaseStreamState& state) {
    if (auto* counting = dynamic_cast<CountingState*>(&state)) ++counting->frames;
    if (frame.image.at<cv::Vec3b>(0, 0)[0] == 1 && values.get<bool>("strict"))
      throw std::runtime_error("a bad frame");
    DetectionNode node{.name = "mark"};
    node.extra_data["version"] = version;
    DetectionNodes nodes = DetectionNodes::all();
    nodes.add(std::move(node));
    return nodes;
  });
}

/// A stream of one thread, and what that thread has counted.
struct Own {
  std::unique_ptr<FrameFeed> feed;
  bool pull = false;
  bool sink_fails = false;
  std::int64_t pushed = 0;
  std::shared_ptr<std::atomic<std::int64_t>> recorded =
      std::make_shared<std::atomic<std::int64_t>>();
};

/// The actions of one thread. It also ends every stream that it opens, and checks its counts.
class Actor {
 public:
  Actor(Pipeline& pipeline, int number)
      : pipeline_(pipeline), number_(number), random_(static_cast<unsigned>(number)) {}

  void act() {
    for (int i = 0; i < kOperations; ++i) {
      const int what = upto(99);
      if (streams_.empty() || what < 6)
        open();
      else if (what < 70)
        push();
      else if (what < 85)
        pull();
      else if (what < 88)
        set_option();
      else if (what < 90)
        set_config();
      else if (what < 93)
        replace();
      else if (what < 96)
        look();
      else
        close();
    }
    while (!streams_.empty()) close();
  }

 private:
  int upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  std::map<std::string, Own>::iterator any() {
    return std::next(streams_.begin(), upto(static_cast<int>(streams_.size()) - 1));
  }

  void open() {
    if (streams_.size() >= 8) return close();
    const std::string id = std::to_string(number_) + "/" + std::to_string(upto(15));
    Own own;
    own.feed = std::make_unique<FrameFeed>(FrameFeed::Settings{.live = upto(1) == 1});
    own.pull = upto(1) == 1;
    own.sink_fails = upto(9) == 0;
    StreamConfig config{.id = id};
    config.source = own.feed->source();
    config.pull = own.pull;
    config.frames_in_flight = static_cast<std::size_t>(upto(4));
    config.overflow = static_cast<OverflowPolicy>(upto(3));
    if (upto(3) == 0) config.quarantine = {.failures = 2, .window = std::chrono::seconds(5)};
    if (upto(3) == 0) config.capsule_deadline = std::chrono::microseconds(50 * upto(20));
    if (upto(1) == 0) config.first_call_deadline = 2 * config.capsule_deadline;
    config.sinks = {
        make_callback_sink([recorded = own.recorded, fails = own.sink_fails](const FrameRecord&) {
          if (fails && *recorded == 3) throw OutputError(ErrorCode::output_write, "full");
          ++*recorded;
        })};
    try {
      pipeline_.open_stream(std::move(config));
      streams_.emplace(id, std::move(own));
    } catch (const SourceError& in_use) {
      EXPECT_EQ(in_use.code(), ErrorCode::duplicate_stream);
    }
  }
  void push() {
    const auto stream = any();
    const cv::Mat image(4, 4, CV_8UC3, cv::Scalar::all(upto(9) == 0 ? 1 : 2));
    if (stream->second.feed->try_push(image)) ++stream->second.pushed;
  }
  void pull() {
    const auto stream = any();
    if (stream->second.pull) pipeline_.try_next(stream->first);
  }
  void set_option() {
    const auto index = pipeline_.set_option(any()->first, "marker", "strict", upto(1) == 1);
    EXPECT_GE(index, 0);
  }
  void set_config() {
    const auto stream = any();
    EXPECT_GE(pipeline_.set_config(stream->first, "marker", JsonValue::object(), upto(1) == 1), 0);
    EXPECT_EQ(pipeline_.stream_settings(stream->first).capsules.at(0).name, "marker");
  }
  void replace() {
    try {
      pipeline_.replace_capsule(marker(2 + upto(1000), upto(1) == 1),
                                {.keep_state = upto(1) == 1, .trial_frames = upto(1) * upto(30)});
    } catch (const InvalidArgument& on_trial) {
    }
  }
  void look() {
    for (const StreamStats& stream : pipeline_.stats().streams) {
      EXPECT_LE(stream.waiting, stream.in_flight) << stream.id;
      EXPECT_LE(stream.in_flight, 64u) << stream.id;
    }
  }
  void close() {
    const auto stream = any();
    if (upto(1) == 1 && !stream->second.pull) {
      stream->second.feed->end();
      check(pipeline_.wait(stream->first), stream->second, true);
    } else {
      check(pipeline_.close_stream(stream->first), stream->second, false);
    }
    streams_.erase(stream);
  }
  static void check(const StreamReport& report, const Own& own, bool whole) {
    std::int64_t dropped = 0;
    for (const auto& [reason, count] : report.drops) dropped += count;
    EXPECT_TRUE(report.ended);
    EXPECT_EQ(report.frames, own.recorded->load());
    if (whole && !report.failure)
      EXPECT_EQ(report.frames + dropped, own.pushed);
    else
      EXPECT_LE(report.frames + dropped, own.pushed) << "some pushed frames may never be read";
    EXPECT_TRUE(!report.failure || own.sink_fails) << *report.failure;
  }

  Pipeline& pipeline_;
  const int number_;
  std::mt19937 random_;
  std::map<std::string, Own> streams_;
};

TEST(StreamRaces, LoseNoFrame) {
  set_log_hook([](LogLevel, std::string_view) {});
  {
    Pipeline pipeline({marker(1, false), make_detector("people", "person")},
                      {.workers = 6, .frames_in_flight = 12});
    std::vector<std::thread> threads;
    for (int i = 0; i < kActors; ++i)
      threads.emplace_back([&pipeline, i] { Actor(pipeline, i).act(); });
    for (std::thread& thread : threads) thread.join();
    const PipelineStats stats = pipeline.stats();
    EXPECT_TRUE(stats.streams.empty());
    EXPECT_EQ(stats.in_flight, 0u);
  }
  set_log_hook({});
}

/// Remembers the addresses of the pixels of frames.
class Addresses {
 public:
  void note(const Frame& frame) {
    const std::lock_guard lock(mutex_);
    places_[frame.index].insert(frame.image.data);
  }
  const std::map<std::int64_t, std::set<const unsigned char*>>& places() const { return places_; }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::set<const unsigned char*>> places_;
};

TEST(Pixels, AreNotCopiedBetweenSourceCapsulesAndSinks) {
  Addresses addresses;
  const Process note = [&](const Frame& frame, DetectionNodes nodes, const OptionValues&,
                           BaseStreamState&) {
    addresses.note(frame);
    return nodes;
  };
  CapsuleInfo stateful = all_info("stateful", "person");
  stateful.stream_state = make_stream_state<CountingState>();
  Pipeline pipeline({make_detector("people", "person", 3),
                     make_capsule(all_info("all", "person"), note), make_capsule(stateful, note),
                     make_capsule(single_info("single", "person"), note)});
  std::vector<FrameRecord> records;  // they keep the pixels, so that no address is used again
  pipeline.open_stream(
      {.id = "s",
       .source = std::make_unique<MemorySource>(MemorySource::Plan{
           .frames = 20, .before = [&](Frame& frame) { addresses.note(frame); }}),
       .sinks = {make_callback_sink(
                     [&](const FrameRecord& record) { addresses.note(record.frame); }),
                 make_callback_sink([&](const FrameRecord& record) { records.push_back(record); })},
       .capsule_deadline = std::chrono::minutes(1)});
  pipeline.wait("s");
  ASSERT_EQ(records.size(), 20u);
  for (const auto& [index, places] : addresses.places()) EXPECT_EQ(places.size(), 1u) << index;
  for (const FrameRecord& record : records)
    EXPECT_TRUE(addresses.places().at(record.frame.index).contains(record.frame.image.data));
}

}  // namespace
}  // namespace vcap::test
