// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "examples/examples.hpp"
#include "vcap/runtime/pipeline.hpp"

namespace {

constexpr std::size_t kFrames = 40;

std::vector<vcap::FrameRecord> run_on_footage() {
  std::vector<std::shared_ptr<vcap::Capsule>> capsules;
  // Not in the order in which they can run: finding that is the plan's work.
  for (const char* name :
       {"encoder_person", "classifier_clothing_color", "tracker_person", "detector_person"})
    capsules.push_back(examples::load(name));

  std::vector<vcap::FrameRecord> records;
  vcap::Pipeline pipeline(std::move(capsules));
  pipeline.open_stream({.id = "vtest",
                        .source = vcap::open_source(examples::footage().string()),
                        .sinks = {vcap::make_callback_sink(
                            [&](const vcap::FrameRecord& record) { records.push_back(record); })},
                        .max_frames = kFrames});
  const vcap::StreamReport report = pipeline.wait("vtest");
  EXPECT_EQ(report.failure, std::nullopt);
  EXPECT_EQ(report.errors, 0);
  return records;
}

const std::vector<vcap::FrameRecord>& records() {
  static const std::vector<vcap::FrameRecord> once = run_on_footage();
  return once;
}

TEST(ExampleCapsules, GiveARecordForEveryFrameInOrder) {
  ASSERT_EQ(records().size(), kFrames);
  for (std::size_t i = 0; i < kFrames; ++i) {
    EXPECT_EQ(records()[i].frame.index, static_cast<std::int64_t>(i));
    EXPECT_TRUE(records()[i].errors.empty()) << records()[i].errors.front().message;
  }
}

TEST(ExampleCapsules, FindPeopleInMoreThanNineFramesOfTen) {
  const auto found = std::ranges::count_if(
      records(), [](const vcap::FrameRecord& record) { return !record.objects.empty(); });
  EXPECT_GT(found * 10, static_cast<std::ptrdiff_t>(kFrames) * 9);
}

TEST(ExampleCapsules, TrackColorAndEncodeEveryPerson) {
  for (const vcap::FrameRecord& record : records()) {
    for (const vcap::DetectionNode& person : record.objects) {
      EXPECT_EQ(person.name, "person");
      EXPECT_TRUE(person.track_id) << "frame " << record.frame.index;
      EXPECT_TRUE(person.attributes.contains("upper_color")) << "frame " << record.frame.index;
      EXPECT_TRUE(person.encoding) << "frame " << record.frame.index;
      EXPECT_TRUE(person.confidence()) << "frame " << record.frame.index;
    }
  }
}

TEST(ExampleCapsules, FollowSomebodyThroughTheClip) {
  std::map<vcap::Uuid, std::set<std::int64_t>> frames_of;
  for (const vcap::FrameRecord& record : records())
    for (const vcap::DetectionNode& person : record.objects)
      frames_of[person.track_id.value()].insert(record.frame.index);
  const auto longest = std::ranges::max_element(
      frames_of, {}, [](const auto& track) { return track.second.size(); });
  ASSERT_NE(longest, frames_of.end());
  EXPECT_GT(longest->second.size(), kFrames / 2);
}

// The whole chain, random ids and all, gives the same text again.
TEST(ExampleCapsules, GiveTheSameRecordsInEveryRun) {
  const std::vector<vcap::FrameRecord> again = run_on_footage();
  ASSERT_EQ(again.size(), records().size());
  for (std::size_t i = 0; i < again.size(); ++i)
    EXPECT_EQ(nlohmann::json(again[i]).dump(), nlohmann::json(records()[i]).dump())
        << "frame " << i;
}

}  // namespace
