// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/frame_record.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "records/record_line.hpp"
#include "support/paths.hpp"

namespace vcap {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(FrameRecord, SaysThatAFrameIsNull) {
  const FrameRecord record{
      .stream_id = "s",
      .frame = {.index = 3, .pts = std::chrono::milliseconds(4), .is_null = true}};
  EXPECT_EQ(record_line(record),
            "{\"schema\":\"vcap.frame/1\",\"stream_id\":\"s\",\"frame_index\":3,\"pts_ns\":4000000,"
            "\"null\":true,\"objects\":[]}\n");
}

/// The record that docs/records.md shows: tests/records/example_record.json.
FrameRecord example() {
  FrameRecord record{.stream_id = "entrance"};
  record.frame.image = cv::Mat::zeros(576, 768, CV_8UC3);
  record.frame.index = 42;
  record.frame.pts = std::chrono::milliseconds(4200);
  record.frame.discontinuity = Discontinuity::gap;
  DetectionNode person{.name = "person", .coords = rect_to_coords(cv::Rect2d(100, 50, 64, 128))};
  person.attributes["upper_color"] = "red";
  person.track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  person.encoding = {0.5f, 0.25f};
  person.extra_data = {{"detection_confidence", 0.75}};
  person.children.push_back(
      {.name = "face", .coords = rect_to_coords(cv::Rect2d(120, 60, 20, 20))});
  record.objects.push_back(person);
  record.drops = {{40, "overload"}, {41, "overload"}};
  record.errors = {{"encoder_person", "exception", "the model is out of memory"}};
  return record;
}

TEST(FrameRecord, IsWrittenAsOneLineInTheOrderOfTheSchema) {
  EXPECT_EQ(
      record_line(example()),
      R"({"schema":"vcap.frame/1","stream_id":"entrance","frame_index":42,"pts_ns":4200000000,)"
      R"("discontinuity":"gap","resolution":{"width":768,"height":576},"objects":[)"
      R"({"name":"person","bbox":{"x":100.0,"y":50.0,"w":64.0,"h":128.0},)"
      R"("coords":[[100.0,50.0],[164.0,50.0],[164.0,178.0],[100.0,178.0]],)"
      R"("attributes":{"upper_color":"red"},"track_id":"f81d4fae-7dec-41d0-a765-00a0c91e6bf6",)"
      R"("confidence":0.75,"encoding":[0.5,0.25],"extra_data":{"detection_confidence":0.75},)"
      R"("children":[{"name":"face","bbox":{"x":120.0,"y":60.0,"w":20.0,"h":20.0},)"
      R"("coords":[[120.0,60.0],[140.0,60.0],[140.0,80.0],[120.0,80.0]]}]}],)"
      R"("drops":[{"frame_index":40,"reason":"overload"},{"frame_index":41,"reason":"overload"}],)"
      R"("errors":[{"capsule":"encoder_person","code":"exception",)"
      R"("message":"the model is out of memory"}]})"
      "\n");
}

TEST(FrameRecord, IsTheSameAsJsonAndAsALine) {
  EXPECT_EQ(nlohmann::json::parse(record_line(example())), nlohmann::json(example()));
}

TEST(FrameRecord, EqualsTheRecordInTheDocumentation) {
  std::ifstream file(test::in_sources("tests/records/example_record.json"));
  EXPECT_EQ(nlohmann::ordered_json::parse(file).dump(),
            nlohmann::ordered_json::parse(record_line(example())).dump());
}

TEST(FrameRecord, LeavesOutAbsentFieldsButNotTheObjects) {
  FrameRecord record{.stream_id = "a"};
  record.frame.image = cv::Mat::zeros(2, 4, CV_8UC3);
  EXPECT_EQ(record_line(record),
            R"({"schema":"vcap.frame/1","stream_id":"a","frame_index":0,"pts_ns":0,)"
            R"("resolution":{"width":4,"height":2},"objects":[]})"
            "\n");
}

TEST(FrameRecord, DescribesPicturesWithoutTheirPixels) {
  FrameRecord record{.stream_id = "a"};
  record.pictures = {{.name = "depth", .type = CV_32FC1, .size = {256, 144}}};
  const nlohmann::json json = record;
  EXPECT_EQ(json.at("pictures"),
            nlohmann::json::parse(R"([{"name":"depth","type":"32FC1","width":256,"height":144}])"));
  EXPECT_EQ(nlohmann::json::parse(record_line(record)), json);
}

TEST(FrameRecord, HasWarningsOfTheFormOfErrors) {
  FrameRecord record{.stream_id = "a"};
  record.warnings.push_back({"finder", "invalid_output", "its name is not declared"});
  const nlohmann::json json = record;
  EXPECT_EQ(json.at("warnings"), nlohmann::json::parse(R"([{"capsule": "finder",
            "code": "invalid_output", "message": "its name is not declared"}])"));
  EXPECT_FALSE(json.contains("errors"));
  EXPECT_EQ(nlohmann::json::parse(record_line(record)), json);
}

TEST(FrameRecord, ReplacesTextThatIsNotUtf8) {
  FrameRecord record{.stream_id = "caf\xe9"};
  record.objects.push_back({.name = "person"});
  record.objects.back().attributes["city"] = "K\xf6ln";
  const std::string line = record_line(record);
  EXPECT_THAT(line, HasSubstr("caf\xef\xbf\xbd"));
  EXPECT_THAT(line, HasSubstr("K\xef\xbf\xbdln"));
  EXPECT_NO_THROW(nlohmann::json::parse(line));
}

TEST(FrameRecord, IsOneLineWithAnyText) {
  FrameRecord record{.stream_id = "two\nlines"};
  const std::string line = record_line(record);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(FrameRecord, WritesNumbersThatAreNotFiniteAsNull) {
  FrameRecord record;
  record.objects.push_back({.name = "person"});
  record.objects.back().encoding = {1.0f, std::numeric_limits<float>::infinity()};
  EXPECT_THAT(record_line(record), HasSubstr(R"("encoding":[1.0,null])"));
}

}  // namespace
}  // namespace vcap
