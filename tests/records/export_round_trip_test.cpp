// SPDX-License-Identifier: Apache-2.0
// What is written in a format is read back, but for what HeldFields says the format does not hold.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <map>

#include "records/export_records.hpp"
#include "records/record_difference.hpp"
#include "records/record_line.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/records/export_sinks.hpp"

namespace vcap::test {
namespace {

using testing::SizeIs;

constexpr std::size_t kRandomFrames = 3000;

/// `tolerance`: of coordinates, in pixels.
void expect_held(const std::vector<FrameRecord>& written, const std::vector<FrameRecord>& read,
                 const HeldFields& held, double tolerance = 0) {
  ASSERT_EQ(written.size(), read.size());
  Restriction of_written(held);
  Restriction of_read(held);
  const RecordTolerance allowed{.of_fields = {{"bbox", tolerance}, {"coords", tolerance}}};
  for (std::size_t i = 0; i < written.size(); ++i) {
    // Through text, so that numbers of both have passed the same rounding.
    const auto left = nlohmann::json::parse(record_line(of_written.of(written[i])));
    const auto right = nlohmann::json::parse(record_line(of_read.of(read[i])));
    const auto difference = first_difference(left, right, allowed);
    ASSERT_FALSE(difference) << "record " << i << ", " << difference->field << ": "
                             << difference->value << " and " << difference->other;
  }
}

TEST(ExportRoundTrip, JsonLinesHoldEverything) {
  const TemporaryFolder folder;
  std::vector<FrameRecord> records = RandomRecords(1).make(kRandomFrames);
  FrameRecord& full = records.front();
  full.group = 3;
  full.pictures = {{.name = "mask", .type = CV_8UC1, .size = {4, 5}}};
  full.drops = {{.frame_index = 7, .reason = "overload", .count = 2}};
  full.errors = {{.capsule = "a", .code = "exception", .message = "m"}};
  full.warnings = {{.capsule = "b", .code = "invalid_output", .message = "n"}};
  full.option_changes = {{.capsule = "a", .option = "x", .value = 0.5},
                         {.capsule = "a", .option = "y", .value = std::int64_t{3}},
                         {.capsule = "a", .option = "z", .value = true},
                         {.capsule = "a", .option = "t", .value = std::string("text")}};
  full.replacements = {{.capsule = "a", .from_version = 1, .to_version = 2}};
  full.config_changes = {{.capsule = "a", .config = {{"b", {1, 2}}, {"a", {{"c", nullptr}}}}},
                         {.capsule = "b", .keep_state = false}};
  const std::string path = folder / "a.jsonl";
  write_all_records(*make_json_lines_sink(path), records);
  const std::string again = folder / "b.jsonl";
  write_all_records(*make_json_lines_sink(again), read_all_records(path));
  EXPECT_EQ(read_file(path), read_file(again));
}

TEST(ExportRoundTrip, Csv) {
  const TemporaryFolder folder;
  std::vector<FrameRecord> records = RandomRecords(2).make(kRandomFrames);
  for (std::size_t i = 0; i < records.size(); i += 3) records[i].group = 1;
  records[5].frame.is_null = true;
  write_all_records(*make_csv_sink(folder / "a.csv"), records);
  expect_held(records, read_all_records(folder / "a.csv"), kCsvHolds);
}

TEST(ExportRoundTrip, Coco) {
  const TemporaryFolder folder;
  const std::vector<FrameRecord> records = RandomRecords(3).make(kRandomFrames);
  write_all_records(*make_coco_sink(folder / "a.json"), records);
  expect_held(records, read_all_records(folder / "a.json"), kCocoHolds);
}

/// MOT writes 1 if the confidence is unknown, and class names are lines.
std::vector<FrameRecord> for_mot(std::vector<FrameRecord> records) {
  const std::function<void(DetectionNode&)> adjust = [&](DetectionNode& node) {
    if (!node.confidence()) node.extra_data["confidence"] = 1.0;
    for (char& c : node.name)
      if (c == '\n' || c == '\r') c = ' ';
    for (DetectionNode& child : node.children) adjust(child);
  };
  for (FrameRecord& record : records)
    for (DetectionNode& node : record.objects) adjust(node);
  return records;
}

TEST(ExportRoundTrip, MotSequence) {
  const TemporaryFolder folder;
  const std::vector<FrameRecord> records = for_mot(RandomRecords(4).make(kRandomFrames));
  write_all_records(*make_mot_sink(folder / "sequence"), records);
  expect_held(records, read_all_records(folder / "sequence"), kMotHolds);
}

TEST(ExportRoundTrip, Yolo) {
  const TemporaryFolder folder;
  const std::vector<FrameRecord> records = RandomRecords(5).make(kRandomFrames);
  write_all_records(*make_yolo_sink(folder / "yolo"), records);
  expect_held(records, read_all_records(folder / "yolo"), kYoloHolds, 1e-9);
}

TEST(ExportRoundTrip, YoloPolygonsWithoutConfidence) {
  const TemporaryFolder folder;
  const std::vector<FrameRecord> records = RandomRecords(6).make(kRandomFrames);
  write_all_records(*make_yolo_sink(folder / "yolo", {.polygons = true, .confidences = false}),
                    records);
  HeldFields held = kYoloHolds;
  held.outlines = true;
  held.confidence = false;
  expect_held(records, read_all_records(folder / "yolo"), held, 1e-9);
}

/// VOC writes the pixels that a box touches within the frame, and replaces what XML does not allow.
std::vector<FrameRecord> for_voc(std::vector<FrameRecord> records) {
  const std::function<void(DetectionNode&)> adjust = [&](DetectionNode& node) {
    if (node.name == "\x01") node.name = "\xEF\xBF\xBD";
    std::map<std::string, std::string> attributes;
    for (auto& [category, value] : node.attributes)
      attributes[category == "\x01" ? "\xEF\xBF\xBD" : category] =
          value == "\x01" ? "\xEF\xBF\xBD" : value;
    node.attributes = std::move(attributes);
    if (!node.coords.empty()) {
      const BoundingBox box = node.bbox();
      node.coords = rect_to_coords(BoundingBox{std::floor(box.x1), std::floor(box.y1),
                                               std::ceil(box.x2), std::ceil(box.y2)});
    }
    for (DetectionNode& child : node.children) adjust(child);
  };
  for (FrameRecord& record : records)
    for (DetectionNode& node : record.objects) adjust(node);
  return records;
}

TEST(ExportRoundTrip, Voc) {
  const TemporaryFolder folder;
  std::vector<FrameRecord> records = for_voc(RandomRecords(8).make(300));
  for (FrameRecord& record : records) record.frame.source_file.clear();
  records.erase(records.begin() + 100,
                records.begin() + 110);  // the names have the frames' indices
  write_all_records(*make_voc_sink(folder / "voc"), records);
  expect_held(records, read_all_records(folder / "voc"), kVocHolds);
}

TEST(ExportRoundTrip, VocOfImagesInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  std::vector<FrameRecord> records = for_voc(RandomRecords(9).make(120));
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i].frame.source_file = "shots/" + std::to_string(i) + ".png";
  write_all_records(*make_voc_sink(folder / "voc"), records);
  expect_held(records, read_all_records(folder / "voc"), kVocHolds);
}

TEST(ExportRoundTrip, VocKeepsWhatIsNotToBeScored) {
  const TemporaryFolder folder;
  FrameRecord record{.stream_id = "s", .resolution = {100, 100}};
  record.objects = {{.name = "car", .coords = rect_to_coords(BoundingBox{1, 2, 30, 40})},
                    {.name = "bus", .coords = rect_to_coords(BoundingBox{1, 2, 30, 40})}};
  record.objects[1].extra_data["ignore"] = 1;
  write_all_records(*make_voc_sink(folder / "voc"), {record});
  const std::vector<FrameRecord> read = read_all_records(folder / "voc");
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(read[0].objects, record.objects);
}

TEST(ExportRoundTrip, NumbersOfTracksStayTheSame) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt",
                                        "1,900,1,2,3,4,0.5,1,-1\n"
                                        "2,7,1,2,3,4,0.25,1,0.125\n"
                                        "2,900,5,6,7,8,1,1,-1\n");
  write_all_records(*make_mot_sink(folder / "b.txt"), read_all_records(path));
  EXPECT_EQ(read_file(folder / "b.txt"), read_file(path));
}

TEST(ExportRoundTrip, NoRecordsGiveAValidEmptyOutputOfEachFormat) {
  const TemporaryFolder folder;
  const std::map<std::string, std::unique_ptr<Sink> (*)(const std::string&)> sinks{
      {"a.jsonl", make_json_lines_sink},
      {"a.csv", make_csv_sink},
      {"a.json", make_coco_sink},
      {"a.txt", make_mot_sink},
      {"mot", make_mot_sink},
      {"yolo", [](const std::string& path) { return make_yolo_sink(path); }}};
  for (const auto& [name, make] : sinks) {
    make(folder / name)->close();
    EXPECT_THAT(read_all_records(folder / name), SizeIs(0)) << name;
  }
}

TEST(ExportRoundTrip, SeveralStreamsShareAnOutput) {
  const TemporaryFolder folder;
  std::vector<FrameRecord> records = RandomRecords(7).make(40);
  for (std::size_t i = 0; i < records.size(); i += 2) {
    records[i].stream_id = "other";
    records[i].frame.index = records[i + 1].frame.index;
  }
  write_all_records(*make_coco_sink(folder / "a.json"), records);
  write_all_records(*make_yolo_sink(folder / "yolo"), records);
  write_all_records(*make_csv_sink(folder / "a.csv"), records);
  expect_held(records, read_all_records(folder / "a.csv"), kCsvHolds);
  expect_held(records, read_all_records(folder / "yolo"), kYoloHolds, 1e-9);
  expect_held(records, read_all_records(folder / "a.json"), kCocoHolds);
}

TEST(ExportRoundTrip, SeveralStreamsShareAFolderOfVoc) {
  const TemporaryFolder folder;
  std::vector<FrameRecord> records;
  for (const char* const stream : {"gate", "yard"})
    for (std::int64_t i = 0; i < 12; ++i) {
      FrameRecord& record =
          records.emplace_back(FrameRecord{.stream_id = stream, .resolution = {64, 48}});
      record.frame.index = i;
      record.frame.pts = std::chrono::milliseconds(40) * i;
    }
  write_all_records(*make_voc_sink(folder / "voc"), records);
  expect_held(records, read_all_records(folder / "voc"), kVocHolds);
}

}  // namespace
}  // namespace vcap::test
