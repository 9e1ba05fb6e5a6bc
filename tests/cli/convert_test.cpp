// SPDX-License-Identifier: Apache-2.0
// Tests of vcap convert, vcap run --export, and vcap eval on what they write.
#include <gmock/gmock.h>

#include <random>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/eval_files.hpp"
#include "cli/images.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/records/export_sinks.hpp"

namespace vcap {
namespace {

using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// Records of people who walk to the right. Found ones have a confidence, are a little off, and
/// some are missed.
std::vector<FrameRecord> walk(bool as_found) {
  std::mt19937_64 engine(5);
  const std::vector<Uuid> ids{Uuid::random(engine), Uuid::random(engine), Uuid::random(engine)};
  std::vector<FrameRecord> records;
  for (int i = 0; i < 40; ++i) {
    FrameRecord record{.stream_id = "walk", .resolution = {640, 480}};
    record.frame.index = i;
    record.frame.pts = std::chrono::milliseconds(40) * i;
    for (int person = 0; person < 3; ++person) {
      if (as_found && (i + person) % 7 == 0) continue;
      const double off = as_found ? (i % 5) * 2 : 0;
      const double x = 10 + 5 * i + off;
      const double y = 100 * person + off;
      DetectionNode node{.name = "person",
                         .coords = rect_to_coords(BoundingBox{x, y, x + 40, y + 80}),
                         .track_id = ids[static_cast<std::size_t>(person)]};
      if (as_found) node.extra_data["confidence"] = 0.5 + (i % 4) / 8.0;
      record.objects.push_back(std::move(node));
    }
    records.push_back(std::move(record));
  }
  return records;
}

std::string write_walk(const TemporaryFolder& folder, const std::string& name, bool as_found) {
  const auto sink = make_json_lines_sink(folder / name);
  for (const FrameRecord& record : walk(as_found)) sink->write(record);
  sink->close();
  return folder / name;
}

/// Without tracking if `with_tracks` is false.
nlohmann::json figures_of(const std::vector<std::string>& words, bool with_tracks = true) {
  std::vector<std::string> arguments{"eval", "--json", "-"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const Result result = test::vcap(arguments);
  EXPECT_EQ(result.exit_code, 0) << result;
  if (result.exit_code != 0) return {};
  auto one = nlohmann::json::parse(result.out).at("classes").at(0);
  one.erase("name");
  if (!with_tracks) one.erase("tracking");
  return one;
}

void convert(const std::vector<std::string>& words) {
  std::vector<std::string> arguments{"convert"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const Result result = test::vcap(arguments);
  EXPECT_EQ(result.exit_code, 0) << result;
}

TEST(ConvertCommand, GivesTheSameScoresInEachFormat) {
  const TemporaryFolder folder;
  const std::string found = write_walk(folder, "found.jsonl", true);
  const std::string truth = write_walk(folder, "truth.jsonl", false);
  const std::vector<std::pair<std::string, std::string>> formats{
      {"coco", folder / "truth.json"}, {"mot", folder / "truth.txt"}, {"mot", folder / "sequence"},
      {"yolo", folder / "yolo"},       {"csv", folder / "truth.csv"}, {"voc", folder / "voc"}};
  for (const auto& [format, path] : formats) convert({truth, "--to", format, "--out", path});
  const nlohmann::json expected =
      figures_of({"--records", found, "--ground-truth", formats[0].second});
  // Of 120 objects, 16 are not found; boxes that are off by 8 pixels overlap by 0.56.
  EXPECT_EQ(expected.at("detection").at("true_positives"), 104);
  EXPECT_EQ(expected.at("detection").at("misses"), 16);
  EXPECT_EQ(expected.at("tracking").at("id_switches"), 0);
  for (const auto& [format, path] : formats) {
    const bool has_tracks = format != "yolo" && format != "voc";
    nlohmann::json wanted = expected;
    if (!has_tracks) wanted.erase("tracking");
    EXPECT_EQ(figures_of({"--records", found, "--ground-truth", path}, has_tracks), wanted) << path;
  }
  // Results in the formats themselves.
  for (const auto& [format, name, place] :
       {std::tuple{"yolo", "found_yolo", 3}, std::tuple{"csv", "found.csv", 4}}) {
    convert({found, "--to", format, "--out", folder / name});
    nlohmann::json wanted = expected;
    if (place == 3) wanted.erase("tracking");
    EXPECT_EQ(figures_of({"--results", folder / name, "--ground-truth",
                          formats[static_cast<std::size_t>(place)].second}),
              wanted)
        << name;
  }
}

TEST(ConvertCommand, GivesTheSameRecordsBackFromCsv) {
  const TemporaryFolder folder;
  const std::string records = write_walk(folder, "a.jsonl", true);
  convert({records, "--to", "csv", "--out", folder / "a.csv"});
  const Result back = test::vcap({"convert", folder / "a.csv", "--to", "jsonl", "--out", "-"});
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_EQ(back.out, test::read_file(records));
  EXPECT_EQ(back.err, "40 records written to -\n");
}

TEST(ConvertCommand, ReadsPascalVoc) {
  const TemporaryFolder folder;
  for (const char* const name : {"1", "2", "10"})
    folder.write("voc/Annotations/" + std::string(name) + ".xml",
                 "<annotation><filename>" + std::string(name) +
                     ".jpg</filename><size><width>64</width><height>48</height></size><object>"
                     "<name>cat</name><pose>Left</pose><bndbox><xmin>1</xmin><ymin>2</ymin>"
                     "<xmax>4</xmax><ymax>8</ymax></bndbox></object></annotation>");
  const Result result =
      test::vcap({"convert", folder / "voc", "--to", "csv", "--out", folder / "a.csv"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(result.out, "3 records written to " + std::string(folder / "a.csv") + "\n");
  EXPECT_THAT(result.err, HasSubstr("records do not hold these elements, which are left out: "
                                    "pose: 3\n"));
  EXPECT_THAT(test::read_file(folder / "a.csv"),
              HasSubstr("voc,,2,80000000,,,64,48,10.jpg,0,cat,0,1,4,7,"));
  const Result single = test::vcap({"convert", folder / "voc/Annotations/2.xml", "--from", "voc",
                                    "--to", "jsonl", "--out", "-"});
  EXPECT_EQ(single.exit_code, 0) << single;
  EXPECT_THAT(single.out, HasSubstr("\"source_file\":\"2.jpg\""));
}

TEST(ConvertCommand, RefusesPascalVocThatIsWrong) {
  const TemporaryFolder folder;
  folder.write("voc/Annotations/1.xml", "<annotation>\n<object><name>cat</name></object>");
  const Result result =
      test::vcap({"convert", folder / "voc", "--to", "jsonl", "--out", folder / "a.jsonl"});
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("1.xml, line 2: the object \"cat\" has no xmin; give xmin"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.jsonl"));
}

TEST(ConvertCommand, SaysOnceWhatIsLost) {
  const TemporaryFolder folder;
  const std::string records = write_walk(folder, "a.jsonl", true);
  const Result result = test::vcap({"convert", records, "--to", "yolo", "--out", folder / "yolo"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("YOLO does not hold track_id: 104"),
                                testing::Not(HasSubstr("\nvcap"))));
}

TEST(ConvertCommand, CutsCropsFromTheSource) {
  const TemporaryFolder folder;
  const std::string source = test::images(folder, "shots", 3);
  const std::string records = folder.write(
      "a.csv", "stream_id,frame_index,name,x,y,w,h\na,0,cat,1,1,8,6\na,2,dog,2,2,10,10\n");
  convert({records, "--to", "crops", "--out", folder / "crops", "--source", source, "--crop-png"});
  EXPECT_EQ(cv::imread(folder / "crops/a/000000000-0-cat.png").size(), cv::Size(8, 6));
  const cv::Mat dog = cv::imread(folder / "crops/a/000000002-0-dog.png");
  ASSERT_EQ(dog.size(), cv::Size(10, 10));
  EXPECT_EQ(dog.at<cv::Vec3b>(0, 0), cv::Vec3b(20, 20, 20)) << "the third image's grey";
  EXPECT_EQ(test::read_file(folder / "crops/labels.csv"),
            "file,label\na/000000000-0-cat.png,cat\na/000000002-0-dog.png,dog\n");
}

TEST(ConvertCommand, RefusesWrongArguments) {
  const TemporaryFolder folder;
  const std::string records = write_walk(folder, "a.jsonl", true);
  const std::string source = test::images(folder, "shots", 3);
  for (const auto& [words, message] :
       {std::pair{std::vector<std::string>{"--to", "crops", "--out", "x"}, "--source"},
        std::pair{std::vector<std::string>{"--to", "jsonl", "--out", records},
                  "is an input and would be replaced"},
        std::pair{std::vector<std::string>{"--to", "csv", "--out", "x", "--stream", "wlk"},
                  "did you mean \"walk\"?"},
        std::pair{std::vector<std::string>{"--to", "parquet", "--out", "x"}, "--to"},
        std::pair{std::vector<std::string>{"--to", "csv", "--out", "x", "--frame-size", "640"},
                  "WIDTHxHEIGHT"},
        std::pair{
            std::vector<std::string>{"--to", "crops", "--out", folder / "x", "--source", source},
            "64 × 48"}}) {
    std::vector<std::string> arguments{"convert", records};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Result result = test::vcap(arguments);
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists("x"));
  }
}

TEST(ConvertCommand, ReportsABadLineWithFileAndLine) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "1,1,2,3,4,5,1\n1,2,x,3,4,5,1\n");
  const Result result = test::vcap({"convert", path, "--to", "csv", "--out", folder / "b.csv"});
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("a.txt, line 2: left is \"x\""));
  EXPECT_FALSE(std::filesystem::exists(folder / "b.csv"));
}

TEST(RunExport, WritesEachFormatWithTheFilesOfTheImages) {
  const TemporaryFolder folder;
  const std::string source = test::images(folder, "shots", 3);
  const auto out = [&folder](const std::string& format, const std::string& name) {
    return format + ":" + std::string(folder / name);
  };
  const Result result =
      test::vcap({"run", "--capsule", test::capsule("finder"), "--source", source, "--jsonl",
                  folder / "a.jsonl", "--export", out("coco", "a.json"), "--export",
                  out("mot", "mot"), "--export", out("yolo", "yolo"), "--export", out("voc", "voc"),
                  "--export", out("csv", "a.csv"), "--export", out("crops", "crops")});
  ASSERT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(test::read_file(folder / "a.jsonl"), HasSubstr("\"source_file\":\"2.png\""));
  const auto coco = nlohmann::json::parse(test::read_file(folder / "a.json"));
  EXPECT_EQ(coco.at("images").at(2).at("file_name"), "2.png");
  EXPECT_EQ(test::read_file(folder / "mot/gt/gt.txt"),
            "1,-1,2,2,8,8,0.5,1,-1\n2,-1,2,2,8,8,0.5,1,-1\n3,-1,2,2,8,8,0.5,1,-1\n");
  EXPECT_TRUE(std::filesystem::exists(folder / "yolo/labels/2.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder / "voc/Annotations/2.xml"));
  EXPECT_EQ(cv::imread(folder / "crops/shots/000000002-0-person.jpg").size(), cv::Size(8, 8));
  const Result back =
      test::vcap({"convert", folder / "a.csv", "--to", "jsonl", "--out", folder / "b.jsonl"});
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_EQ(test::read_file(folder / "b.jsonl"), test::read_file(folder / "a.jsonl"));
}

TEST(RunExport, GivesEachStreamItsOwnMot) {
  const TemporaryFolder folder;
  const Result result = test::vcap(
      {"run", "--capsule", test::capsule("finder"), "--source", test::images(folder, "gate", 2),
       "--source", test::images(folder, "yard", 1), "--export",
       "mot:" + std::string(folder / "t.txt"), "--export", "csv:" + std::string(folder / "t.csv")});
  ASSERT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(test::read_file(folder / "t-yard.txt"), "1,-1,2,2,8,8,0.5,1,-1\n");
  EXPECT_TRUE(std::filesystem::exists(folder / "t-gate.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder / "t.csv"));
}

TEST(RunExport, RefusesAnUnknownFormatBeforeAnythingRuns) {
  const TemporaryFolder folder;
  for (const auto& [text, message] :
       {std::pair{"coko:x", "did you mean \"coco\"?"}, std::pair{"coco", "the path is missing"},
        std::pair{"coco:/no/such/folder/x", "does not exist"}}) {
    const Result result = test::vcap({"run", "--capsule", test::capsule("finder"), "--source",
                                      test::images(folder, "shots", 1), "--export", text});
    EXPECT_NE(result.exit_code, 0) << result;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

}  // namespace
}  // namespace vcap
