// SPDX-License-Identifier: Apache-2.0
// Tests of quarantine: a capsule that keeps failing is left out for a while; the rest continues.
#include "streams/quarantine.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <map>

#include "support/manual_clock.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr QuarantinePolicy kPolicy{.failures = 3, .window = seconds(10), .pause = seconds(30)};

TEST(Quarantine, BeginsWhenFailuresInTheWindowReachTheLimit) {
  Quarantine quarantine(kPolicy);
  EXPECT_FALSE(quarantine.note(seconds(0), true));
  EXPECT_FALSE(quarantine.note(seconds(8), true));
  EXPECT_FALSE(quarantine.note(seconds(9), false));
  EXPECT_FALSE(quarantine.note(seconds(11), true)) << "the first failure is out of the window";
  EXPECT_FALSE(quarantine.holds(seconds(12)));
  EXPECT_TRUE(quarantine.note(seconds(12), true));
  EXPECT_TRUE(quarantine.holds(seconds(12)));
  EXPECT_TRUE(quarantine.holds(milliseconds(41999)));
  EXPECT_FALSE(quarantine.holds(seconds(42)));
}

TEST(Quarantine, ContinuesAfterOneFailureOnTrial) {
  Quarantine quarantine(kPolicy);
  for (int i = 0; i < 3; ++i) quarantine.note(seconds(i), true);
  EXPECT_TRUE(quarantine.note(seconds(40), true));
  EXPECT_TRUE(quarantine.holds(seconds(69)));
}

TEST(Quarantine, EndsAfterOneSuccessOnTrial) {
  Quarantine quarantine(kPolicy);
  for (int i = 0; i < 3; ++i) quarantine.note(seconds(i), true);
  EXPECT_FALSE(quarantine.note(seconds(40), false));
  EXPECT_FALSE(quarantine.note(seconds(41), true));
  EXPECT_FALSE(quarantine.note(seconds(42), true));
  EXPECT_TRUE(quarantine.note(seconds(43), true));
}

TEST(Quarantine, IsNotExtendedByFramesInFlight) {
  Quarantine quarantine(kPolicy);
  for (int i = 0; i < 3; ++i) quarantine.note(seconds(i), true);
  EXPECT_FALSE(quarantine.note(seconds(20), true));
  EXPECT_FALSE(quarantine.holds(seconds(32)));
}

TEST(Quarantine, EndsWhenTimesGoBack) {
  Quarantine quarantine(kPolicy);
  for (int i = 100; i < 103; ++i) quarantine.note(seconds(i), true);
  EXPECT_FALSE(quarantine.holds(seconds(5)));
}

/// Fails on frames 5 to 14, and counts the calls.
std::shared_ptr<Capsule> make_failing(std::atomic<int>& calls, bool stateful,
                                      std::vector<Discontinuity>* seen = nullptr) {
  CapsuleInfo info = all_info("failing", "person");
  if (stateful) info.stream_state = make_stream_state<CountingState>();
  return make_capsule(std::move(info), [&calls, seen](const Frame& frame, DetectionNodes nodes,
                                                      const OptionValues&, BaseStreamState&) {
    ++calls;
    if (seen != nullptr) seen->push_back(frame.discontinuity);
    if (frame.index >= 5 && frame.index < 15) throw std::runtime_error("the model is gone");
    return nodes;
  });
}

/// Frames are 40 ms apart.
constexpr QuarantinePolicy kShort{.failures = 3, .window = seconds(1), .pause = milliseconds(200)};

std::vector<std::int64_t> with_code(const std::vector<FrameRecord>& records,
                                    const std::string& code) {
  std::vector<std::int64_t> indexes;
  for (const FrameRecord& record : records)
    for (const auto& error : record.errors)
      if (error.code == code) indexes.push_back(record.frame.index);
  return indexes;
}

TEST(StreamQuarantine, LeavesOutACapsuleThatKeepsFailingAndTriesItAgain) {
  std::vector<std::string> log;
  set_log_hook([&log](LogLevel, std::string_view line) { log.emplace_back(line); });
  std::atomic<int> calls{0};
  std::vector<Discontinuity> seen;
  Pipeline pipeline({make_detector("people", "person"), make_failing(calls, true, &seen)});
  StreamReport report;
  std::vector<FrameRecord> records;
  pipeline.open_stream(
      {.id = "a",
       .source = make_source(25),
       .sinks = {make_callback_sink([&](const FrameRecord& record) { records.push_back(record); })},
       .quarantine = kShort});
  report = pipeline.wait("a");
  set_log_hook({});

  // Frames 5, 6 and 7 fail; a pause of five frames follows; 12 fails on trial; then another pause.
  EXPECT_THAT(with_code(records, "exception"), ElementsAre(5, 6, 7, 12));
  EXPECT_THAT(with_code(records, "quarantined"), ElementsAre(8, 9, 10, 11, 13, 14, 15, 16));
  EXPECT_EQ(calls, 17);
  EXPECT_EQ(report.frames, 25);
  EXPECT_EQ(report.errors, 12);
  EXPECT_THAT(report.quarantined, ElementsAre(Pair("failing", 8)));
  for (const FrameRecord& record : records) EXPECT_EQ(record.objects.size(), 1u);
  // A frame after a pause does not follow the frame before the pause.
  EXPECT_EQ(seen[8], Discontinuity::gap);
  EXPECT_EQ(std::ranges::count(seen, Discontinuity::none), 14);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_THAT(log[0],
              HasSubstr("stream a: capsule failing keeps failing and is left out for 0.2 s; "
                        "the last error: the model is gone"));
}

TEST(StreamQuarantine, HoldsForStatelessCapsulesToo) {
  set_log_hook([](LogLevel, std::string_view) {});
  std::atomic<int> calls{0};
  Pipeline pipeline({make_detector("people", "person"), make_failing(calls, false)});
  const auto records =
      run(pipeline, {.source = make_source(25), .frames_in_flight = 1, .quarantine = kShort});
  set_log_hook({});
  EXPECT_THAT(with_code(records, "quarantined"), ElementsAre(8, 9, 10, 11, 13, 14, 15, 16));
}

TEST(StreamQuarantine, LeavesTheOtherStreamsAlone) {
  std::atomic<int> calls{0};
  CapsuleInfo info = all_info("failing", "person");
  info.stream_state = make_stream_state<CountingState>();
  Pipeline pipeline({make_detector("people", "person"),
                     make_capsule(info, [&calls](const Frame& frame, DetectionNodes nodes,
                                                 const OptionValues&, BaseStreamState&) {
                       if (frame.image.at<cv::Vec3b>(0, 0)[0] == 7)
                         throw std::runtime_error("not this one");
                       ++calls;
                       return nodes;
                     })});
  FrameFeed bad, good;
  for (const auto& [id, feed] : {std::pair("bad", &bad), std::pair("good", &good)})
    pipeline.open_stream({.id = id, .source = feed->source(), .pull = true, .quarantine = kShort});
  // The pause is measured in the frames' times, which do not depend on how long the test takes.
  std::map<std::string, int> pushed;
  const auto push = [&](const std::string& id, FrameFeed& feed, int value) {
    feed.push(cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(value)),
              std::chrono::milliseconds(40 * pushed[id]++));
    return pipeline.next(id)->errors;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(push("bad", bad, 7).at(0).code, "exception");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(push("good", good, 1).empty());
  EXPECT_EQ(push("bad", bad, 7).at(0).code, "quarantined");
  EXPECT_TRUE(push("good", good, 1).empty());
  EXPECT_EQ(calls, 6);
  bad.end();
  good.end();
}

TEST(StreamQuarantine, IsOffByDefault) {
  std::atomic<int> calls{0};
  Pipeline pipeline({make_detector("people", "person"), make_failing(calls, true)});
  const auto records = run(pipeline, {.source = make_source(25)});
  EXPECT_EQ(with_code(records, "exception").size(), 10u);
  EXPECT_EQ(calls, 25);
}

TEST(PipelineQuarantine, LeavesACapsuleOutOfAllStreamsByTheClock) {
  set_log_hook([](LogLevel, std::string_view) {});
  const auto clock = std::make_shared<ManualClock>();
  std::atomic<bool> is_well{false};
  CapsuleInfo info = detector_info("failing", "person");
  Pipeline pipeline(
      {make_capsule(info,
                    [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
                      if (!is_well) throw std::runtime_error("the model is gone");
                      return DetectionNodes::all();
                    })},
      {.quarantine = {.failures = 3, .window = seconds(10), .pause = seconds(30)}, .clock = clock});
  const auto codes = [&] {
    std::vector<std::string> found;
    for (const FrameRecord& record :
         run(pipeline, {.source = make_source(2), .frames_in_flight = 1}))
      found.push_back(record.errors.empty() ? "" : record.errors[0].code);
    return found;
  };
  // Each stream has two frames, so that no stream alone reaches three failures.
  EXPECT_THAT(codes(), ElementsAre("exception", "exception"));
  EXPECT_THAT(codes(), ElementsAre("exception", "quarantined"));
  EXPECT_TRUE(pipeline.stats().capsules[0].quarantined);
  clock->advance(seconds(29));
  EXPECT_THAT(codes(), ElementsAre("quarantined", "quarantined"));
  clock->advance(seconds(1));
  EXPECT_THAT(codes(), ElementsAre("exception", "quarantined")) << "one frame is tried";
  is_well = true;
  clock->advance(seconds(30));
  EXPECT_THAT(codes(), ElementsAre("", ""));
  EXPECT_FALSE(pipeline.stats().capsules[0].quarantined);
  set_log_hook({});
}

TEST(PipelineQuarantine, RefusesTimesOfZero) {
  EXPECT_THAT([] { Pipeline({}, {.quarantine = {.failures = 1, .window = seconds(0)}}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("the pipeline's quarantine")));
}

TEST(StreamQuarantine, RefusesTimesOfZero) {
  Pipeline pipeline({});
  EXPECT_THAT(
      [&] {
        pipeline.open_stream({.id = "a",
                              .source = make_source(1),
                              .quarantine = {.failures = 1, .pause = seconds(0)}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                   HasSubstr("quarantine of stream a")));
}

}  // namespace
}  // namespace vcap::test
