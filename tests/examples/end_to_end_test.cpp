// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "examples/examples.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace {

std::vector<vcap::FrameRecord> run_on_footage(std::int64_t frames) {
  std::vector<std::shared_ptr<vcap::Capsule>> capsules;
  // The capsules cannot run in this order; the plan must find a possible one.
  for (const char* name :
       {"encoder_person", "classifier_clothing_color", "tracker_person", "detector_person_hog"})
    capsules.push_back(examples::load(name));

  std::vector<vcap::FrameRecord> records;
  vcap::Pipeline pipeline(std::move(capsules));
  pipeline.open_stream({.id = "vtest",
                        .source = vcap::open_source(examples::footage().string()),
                        .sinks = {vcap::make_callback_sink(
                            [&](const vcap::FrameRecord& record) { records.push_back(record); })},
                        .max_frames = frames});
  const vcap::StreamReport report = pipeline.wait("vtest");
  EXPECT_EQ(report.failure, std::nullopt);
  EXPECT_EQ(report.errors, 0);
  EXPECT_EQ(records.size(), static_cast<std::size_t>(frames));
  return records;
}

TEST(ExampleCapsules, TrackColorAndEncodePeopleOnRealFootage) {
  const std::vector<vcap::FrameRecord> records = run_on_footage(40);
  std::size_t with_people = 0;
  std::map<vcap::Uuid, std::size_t> frames_of;
  for (const vcap::FrameRecord& record : records) {
    SCOPED_TRACE("frame " + std::to_string(record.frame.index));
    if (!record.objects.empty()) ++with_people;
    for (const vcap::DetectionNode& person : record.objects) {
      EXPECT_EQ(person.name, "person");
      EXPECT_TRUE(person.confidence());
      EXPECT_TRUE(person.attributes.contains("upper_color"));
      EXPECT_TRUE(person.encoding);
      ASSERT_TRUE(person.track_id);
      ++frames_of[*person.track_id];
    }
  }
  EXPECT_GT(with_people * 10, records.size() * 9);
  ASSERT_FALSE(frames_of.empty());
  std::size_t longest = 0;
  for (const auto& [id, frames] : frames_of) longest = std::max(longest, frames);
  EXPECT_GT(longest, records.size() / 2) << "nobody was followed";
}

// The whole chain, including random ids, gives the same text again, for any division into batches.
TEST(ExampleCapsules, GiveTheSameRecordsInEveryRun) {
  const std::vector<vcap::FrameRecord> once = run_on_footage(12);
  const std::vector<vcap::FrameRecord> again = run_on_footage(12);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i)
    EXPECT_EQ(nlohmann::json(once[i]).dump(), nlohmann::json(again[i]).dump()) << "frame " << i;
}

}  // namespace
