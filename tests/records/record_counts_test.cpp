// SPDX-License-Identifier: Apache-2.0
#include "records/record_counts.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace vcap::test {
namespace {

FrameRecord record_of(std::int64_t index, std::vector<DetectionNode> objects, bool failed) {
  FrameRecord record{.frame = {.index = index}, .objects = std::move(objects)};
  if (failed) record.errors = {{"finder", "exception", "no"}};
  return record;
}

std::vector<FrameRecord> some_records() {
  DetectionNode child{.name = "face", .encoding = std::vector<float>{1, 2}};
  DetectionNode person{
      .name = "person", .attributes = {{"color", "red"}}, .children = {std::move(child)}};
  return {record_of(0, {}, false), record_of(1, {person}, true),
          record_of(2, {person, person}, false), record_of(3, {}, true)};
}

RecordCounts counts_of(const std::vector<FrameRecord>& records, std::size_t begin,
                       std::size_t end) {
  RecordCounts counts;
  if (begin == 0 && end > 0) counts.broken_pictures.add("1.2 s");
  for (std::size_t i = begin; i < end; ++i) counts.add(records[i]);
  return counts;
}

TEST(RecordCounts, AddUpHoweverTheRecordsAreSplit) {
  const std::vector<FrameRecord> records = some_records();
  const RecordCounts all = counts_of(records, 0, records.size());
  for (std::size_t cut = 0; cut <= records.size(); ++cut) {
    RecordCounts sum = counts_of(records, 0, cut);
    sum.add(counts_of(records, cut, records.size()));
    EXPECT_EQ(sum, all) << "cut at " << cut;
  }
}

TEST(RecordCounts, AreTheSameAfterJsonAndBack) {
  const RecordCounts counts = counts_of(some_records(), 0, 4);
  EXPECT_EQ(nlohmann::json(counts).get<RecordCounts>(), counts);
}

TEST(RecordCounts, ArePrintedAsText) {
  const RecordCounts counts = counts_of(some_records(), 0, 4);
  std::ostringstream text;
  counts.print_objects(text);
  counts.print_details(text);
  EXPECT_EQ(text.str(),
            "  broken pictures  1 (1.2 s), skipped\n"
            "  failed frames    2, the first: frame 1: capsule finder: no\n"
            "  objects          face 3, person 3\n"
            "  with objects     2 frames (50.0 %)\n"
            "  color            red 3\n"
            "  encodings        3\n");
}

TEST(RecordCounts, SayWhetherEveryFrameFailed) {
  const std::vector<FrameRecord> records = some_records();
  EXPECT_FALSE(RecordCounts().every_frame_failed());
  EXPECT_FALSE(counts_of(records, 0, 4).every_frame_failed());
  EXPECT_TRUE(counts_of(records, 3, 4).every_frame_failed());
}

}  // namespace
}  // namespace vcap::test
