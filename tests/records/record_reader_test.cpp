// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/record_reader.hpp"

#include <gmock/gmock.h>

#include <opencv2/imgcodecs.hpp>

#include "records/export_records.hpp"
#include "records/yolo_names.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;

TEST(RecordReader, GuessesTheFormat) {
  const TemporaryFolder folder;
  folder.write("mot/gt/gt.txt", "");
  folder.write("yolo/labels/a.txt", "");
  folder.write("labels/cat/1.jpg", "");
  folder.write("voc/Annotations/cat/1.xml", "");
  folder.write("beside/1.jpg", "");
  folder.write("beside/1.xml", "");
  const std::vector<std::pair<std::string, std::optional<RecordFormat>>> cases{
      {folder.write("a.jsonl", ""), RecordFormat::json_lines},
      {folder.write("a.json", "{\"images\":[]}"), RecordFormat::coco},
      {folder.write("b.json", "{\"stream_id\":\"s\",\"frame_index\":0}\n"),
       RecordFormat::json_lines},
      {folder.write("a.txt", ""), RecordFormat::mot},
      {folder.write("a.csv", ""), RecordFormat::csv},
      {folder.write("a.bin", ""), std::nullopt},
      {folder / "mot", RecordFormat::mot},
      {folder / "yolo", RecordFormat::yolo},
      {folder.write("a.xml", ""), RecordFormat::voc},
      {folder / "voc", RecordFormat::voc},
      {folder / "beside", RecordFormat::voc},
      {folder / "labels", std::nullopt}};
  for (const auto& [path, format] : cases) EXPECT_EQ(guess_record_format(path), format) << path;
}

TEST(RecordReader, AsksForAFormatThatIsNotClear) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.bin", "");
  EXPECT_THAT([&] { open_records(path); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("jsonl, coco, mot, yolo, csv or voc")));
}

TEST(RecordReader, ReportsAFileThatDoesNotExist) {
  const TemporaryFolder folder;
  for (const char* const name : {"a.jsonl", "a.json", "a.txt", "a.csv", "a", "a.yaml", "a.xml"})
    EXPECT_THAT([&] { open_records(folder / name); }, testing::Throws<SourceError>()) << name;
}

TEST(RecordReader, NamesFileAndPlaceOfAnError) {
  struct Case {
    std::string name;
    std::string content;
    std::string message;
  };
  const std::string table = "frame_index,node,name,x,y,w,h,confidence,attributes,track_id\n";
  const std::vector<Case> cases{
      {"a.jsonl", "{\"stream_id\":\"s\",\"frame_index\":0,\"objects\":[]}\n{broken\n", "line 2"},
      {"a.jsonl", "{\"stream_id\":\"s\",\"frame_index\":-1,\"objects\":[]}\n",
       "line 1: /frame_index: "},
      {"a.jsonl", "{\"stream_id\":\"s\",\"frame_index\":0,\"objects\":[{\"name\":7}]}\n",
       "/objects/0/name"},
      {"a.json", "{\"images\":", "a.json: "},
      {"a.json", "{\"images\":[],\"annotations\":[],\"categories\":[{\"id\":1}]}",
       "categories[0]: \"name\" is missing"},
      {"a.json", R"({"images":[{"id":1,"width":-1}],"annotations":[],"categories":[]})",
       "images[0]: \"width\" is -1"},
      {"a.json",
       R"({"images":[{"id":1}],"categories":[{"id":1,"name":"a"}],"annotations":[
           {"id":5,"image_id":1,"category_id":1,"bbox":[0,0,1,1],"parent_id":5}]})",
       "annotations[0]: its parent_id 5"},
      {"a.json",
       R"({"images":[{"id":1}],"categories":[{"id":1,"name":"a"}],"annotations":[
           {"image_id":1,"category_id":1,"bbox":[0,0,1,1],"segmentation":[[1,2,3]]}]})",
       "annotations[0]: \"segmentation\" must be"},
      {"a.txt", "1,1,2,3,4,5,1\nx,1,2,3,4,5,1\n", "a.txt, line 2: frame is \"x\""},
      {"a.txt", "1,1,nan,3,4,5,1\n", "line 1: left is \"nan\""},
      {"a.txt", "1,1,2,3,4\n", "line 1: it has 5 columns"},
      {"a.txt", "999999999,1,2,3,4,5,1\n", "line 1: frame is 999999999; at most"},
      {"a.txt", "1,1,2,3,4,5,1\n2,1,2,3,4,5,1\n1,1,6,7,8,9,1\n",
       "line 3: frame 1 has the id 1 already"},
      {"a.txt", "1,1,2,3,-4,5,1\n", "line 1: the box's size is -4"},
      {"a.csv", "", "a.csv: the file is empty"},
      {"a.csv", "name,x\n", "line 1: the column frame_index is missing"},
      {"a.csv", "frame_index,name,name\n", "line 1: the column \"name\" is there twice"},
      {"a.csv", table + "0,0,\"a\n", "line 2: a quote is not closed"},
      {"a.csv", table + "0,0,\"a\"b\n", "line 2: field 3 goes on after its closing quote"},
      {"a.csv", table + "zero,0,a\n", "line 2: frame_index is \"zero\""},
      {"a.csv", table + "0,0,a,1,2,inf,4\n", "line 2: w is \"inf\""},
      {"a.csv", table + "0,0,a,1,2,3\n", "line 2: of x, y, w and h"},
      {"a.csv", table + "0,0,a,,,,,,{x}\n", "line 2: attributes: "},
      {"a.csv", table + "0,0,a,,,,,,,7\n", "line 2: /track_id"},
      {"a.csv", table + "0,0,a\n0,2,b\n", "line 3: node is \"2\""},
      {"a.csv", table + "0,0.0,a\n", "line 2: node is \"0.0\""},
      {"a.csv", table + "0,0,a\n0,,\n", "line 3: a row without a node"},
      {"a.csv", table + "0,0,a,,,,,,,,,,\n", "line 2: it has 13 fields, but 10 columns"},
      {"yolo/labels/1.txt", "0 0.5 0.5 0.5 0.5\n", "1.txt, line 1: the frame's size"},
      {"yolo/frames.csv", "frame_index\n", "the columns file and frame_index are needed"},
      {"yolo/frames.csv", "file,frame_index\n../a.txt,0\n", "line 2: file is \"../a.txt\""},
      {"yolo/data.yaml", "names: &anchor\n", "data.yaml, line 1"},
      {"yolo/data.yaml", "names:\n  x: a\n", "data.yaml, line 2"},
  };
  for (const Case& one : cases) {
    const TemporaryFolder folder;
    const std::string path = folder.write(one.name, one.content);
    const bool is_yolo = one.name.starts_with("yolo");
    EXPECT_THAT(
        [&] {
          read_all_records(is_yolo ? std::string(folder / "yolo") : path,
                           {.format = is_yolo ? std::optional(RecordFormat::yolo) : std::nullopt});
        },
        testing::Throws<InvalidArgument>(
            testing::Property(&InvalidArgument::what,
                              AllOf(HasSubstr(folder.path().native()), HasSubstr(one.message)))))
        << one.content;
  }
}

TEST(RecordReader, RefusesBadYoloLabels) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"0 0.5 0.5 0.5\n", "it has 4 numbers"},
      {"0 50 0.5 0.5 0.5\n", "number 2 is 50.0"},
      {"0.5 0.5 0.5 0.5 0.5\n", "the class is 0.5"},
      {"0 nan 0.5 0.5 0.5\n", "number 2 is \"nan\""},
      {"0 0.5 0.5 0.5 x\n", "number 5 is \"x\""}};
  for (const auto& [line, message] : cases) {
    const TemporaryFolder folder;
    folder.write("labels/1.txt", "0 0.5 0.5 0.5 0.5\n" + line);
    EXPECT_THAT(
        [&] {
          read_all_records(folder.path(), {.frame_size = {10, 10}});
        },
        ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                     AllOf(HasSubstr("1.txt, line 2"), HasSubstr(message))));
  }
}

TEST(RecordReader, TakesTheSizeOfYoloFramesFromImagesInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  folder.write("labels/2.txt", "1 0.5 0.5 0.5 0.5\n");
  folder.write("labels/10.txt", "0 0.25 0.5 0.5 1 0.75\n");
  folder.write("images/.keep", "");
  folder.write("data.yaml", "# a comment\nnames: ['it''s', \"car\"] # two\n");
  cv::imwrite(folder / "images/2.png", cv::Mat(10, 20, CV_8UC3, cv::Scalar::all(0)));
  cv::imwrite(folder / "images/3.png", cv::Mat(10, 20, CV_8UC3, cv::Scalar::all(0)));
  cv::imwrite(folder / "images/10.png", cv::Mat(100, 200, CV_8UC3, cv::Scalar::all(0)));
  const auto records = read_all_records(folder.path());
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0].frame.source_file, "2.png");
  EXPECT_EQ(records[0].objects.at(0).name, "car");
  EXPECT_EQ(records[0].objects.at(0).bbox(), (BoundingBox{5, 2.5, 15, 7.5}));
  EXPECT_TRUE(records[1].objects.empty()) << "3.png has no labels";
  EXPECT_EQ(records[2].objects.at(0).name, "it's");
  EXPECT_EQ(records[2].objects.at(0).bbox(), (BoundingBox{0, 0, 100, 100}));
  EXPECT_EQ(records[2].objects.at(0).confidence(), 0.75);
}

TEST(RecordReader, ReadsYoloPolygonsWithAndWithoutConfidence) {
  const TemporaryFolder folder;
  folder.write("labels/1.txt", "0 0 0 1 0 1 1\n0 0 0 1 0 1 1 0.5\n");
  const auto records = read_all_records(folder.path(), {.frame_size = {10, 10}});
  const Coords triangle{{0, 0}, {10, 0}, {10, 10}};
  EXPECT_EQ(records.at(0).objects.at(0).coords, triangle);
  EXPECT_EQ(records.at(0).objects.at(0).confidence(), std::nullopt);
  EXPECT_EQ(records.at(0).objects.at(1).coords, triangle);
  EXPECT_EQ(records.at(0).objects.at(1).confidence(), 0.5);
}

TEST(YoloNames, AreReadInTheFormsThatToolsWrite) {
  for (const char* const text :
       {"nc: 2\nnames:\n  0: person\n  1: \"traffic light\"\ntrain: x\n",
        "names:\n- person\n- 'traffic light' # comment\n", "names: [person, traffic light]\n",
        "names: {0: person, 1: 'traffic light'}\n", "names: [\n  person,\n  traffic light\n]\n"}) {
    const TemporaryFolder folder;
    folder.write("data.yaml", text);
    EXPECT_THAT(read_yolo_names(folder.path()),
                ElementsAre(Pair(0, "person"), Pair(1, "traffic light")))
        << text;
  }
  const TemporaryFolder folder;
  folder.write("classes.txt", "person\ntraffic light\n");
  EXPECT_THAT(read_yolo_names(folder.path()),
              ElementsAre(Pair(0, "person"), Pair(1, "traffic light")));
}

TEST(RecordReader, ReadsATableThatSomebodyElseMade) {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "truth.csv",
      "\xEF\xBB\xBF"
      "frame_index,name,x,y,w,h\r\n3,person,1,2,3,4\r\n\r\n3,car,5,6,7,8\r\n5,,,,,\r\n");
  const auto records = read_all_records(path);
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].stream_id, "truth");
  EXPECT_EQ(records[0].frame.pts, std::chrono::milliseconds(120));
  EXPECT_EQ(records[0].objects.at(1).bbox(), (BoundingBox{5, 6, 12, 14}));
  EXPECT_EQ(records[1].frame.index, 5);
  EXPECT_TRUE(records[1].objects.empty());
}

TEST(RecordReader, ReadsAFileOfMotChallenge) {
  const TemporaryFolder folder;
  folder.write("MOT17-04/gt/gt.txt", "3,2,1,2,3,4,1,3,0.5\n1,2,1,2,3,4,0,1,1\n");
  folder.write("MOT17-04/seqinfo.ini",
               "[Sequence]\r\nname=MOT17-04\r\nframeRate=30\r\nseqLength=4\r\nimWidth=1920\r\n"
               "imHeight=1080\r\n");
  for (const std::string& path :
       {std::string(folder / "MOT17-04"), std::string(folder / "MOT17-04/gt/gt.txt")}) {
    const auto records = read_all_records(path);
    ASSERT_EQ(records.size(), 4) << path;
    EXPECT_EQ(records[0].stream_id, "MOT17-04");
    EXPECT_EQ(records[0].resolution, cv::Size(1920, 1080));
    EXPECT_EQ(records[0].objects.at(0).name, "pedestrian");
    EXPECT_EQ(records[2].objects.at(0).name, "car");
    EXPECT_EQ(records[2].objects.at(0).track_id, records[0].objects.at(0).track_id);
    EXPECT_EQ(records[3].frame.pts, std::chrono::milliseconds(100));
  }
}

TEST(RecordReader, KeepsCrowdsAndAttributesOfCoco) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("a.json",
                   R"({"images":[{"id":3,"file_name":"x/0007.jpg","width":10,"height":20}],
          "categories":[{"id":9,"name":"person","keypoints":["nose","ear"]}],
          "annotations":[{"image_id":3,"category_id":9,"bbox":[1,2,3,4],"iscrowd":1,
            "segmentation":{"counts":"x","size":[20,10]},"attributes":{"n":2,"b":true,"t":"x"},
            "keypoints":[1,2,0,5,6,2]}]})");
  const auto records = read_all_records(path);
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0].frame.index, 7);
  EXPECT_EQ(records[0].frame.source_file, "x/0007.jpg");
  const DetectionNode& node = records[0].objects.at(0);
  EXPECT_EQ(node.extra_data.at("iscrowd"), 1);
  EXPECT_THAT(node.attributes, ElementsAre(Pair("b", "true"), Pair("n", "2"), Pair("t", "x")));
  ASSERT_EQ(node.keypoints.size(), 1);
  EXPECT_EQ(node.keypoints[0].name, "ear");
}

}  // namespace
}  // namespace vcap::test
