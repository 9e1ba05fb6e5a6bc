// SPDX-License-Identifier: Apache-2.0
//
// vcap eval with wrong input: messages name the file, the place, the value and the remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/eval_files.hpp"
#include "support/temporary_folder.hpp"

namespace vcap {
namespace {

using test::EvalJson;
using test::Result;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::IsEmpty;

/// Input files with one error, and its message.
struct WrongInput {
  std::string name;
  std::string message;
  std::string truth_file = "truth.json";
  std::string truth = test::two_people().dump();
  std::string found_file = "frames.jsonl";
  std::string found = test::one_person_found();
  std::vector<std::string> options{};
  int exit_code = 2;
};

class EvalWrongInput : public testing::TestWithParam<WrongInput> {};

TEST_P(EvalWrongInput, IsExplainedInOneLine) {
  const TemporaryFolder folder;
  const WrongInput& wrong = GetParam();
  const bool is_records = wrong.found_file.ends_with(".jsonl");
  std::vector<std::string> words{"eval",
                                 is_records ? "--records" : "--results",
                                 folder.write(wrong.found_file, wrong.found),
                                 "--ground-truth",
                                 folder.write(wrong.truth_file, wrong.truth),
                                 "--json",
                                 folder / "figures.json"};
  words.insert(words.end(), wrong.options.begin(), wrong.options.end());
  const Result result = test::vcap(words);
  EXPECT_EQ(result.exit_code, wrong.exit_code) << result;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr(wrong.message));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "more than one line: " << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "figures.json"));
}

std::string name_of_wrong(const testing::TestParamInfo<WrongInput>& test_info) {
  return test_info.param.name;
}

/// Records whose second line is `line`.
WrongInput records_with(const std::string& name, const std::string& line,
                        const std::string& message) {
  return {.name = name,
          .message = "frames.jsonl, line 2: " + message,
          .found = test::record_of(0, {}) + line};
}

EvalJson changed_object(const std::function<void(EvalJson&)>& change) {
  EvalJson object = test::found_object("person", 0, 0, 10, 10, 0.9);
  change(object);
  return object;
}

WrongInput object_with(const std::string& name, const std::function<void(EvalJson&)>& change,
                       const std::string& message) {
  return records_with(name, test::record_of(1, {changed_object(change)}), message);
}

INSTANTIATE_TEST_SUITE_P(
    Records, EvalWrongInput,
    testing::Values(
        records_with("BrokenLine", "{\"stream_id\":", "[json.exception.parse_error"),
        records_with("NaN", R"({"stream_id":"s","frame_index":NaN,"objects":[]})",
                     "[json.exception.parse_error"),
        records_with("NoObject", "[1, 2]\n", "the line is not an object"),
        records_with("NoStream", "{\"frame_index\": 1, \"objects\": []}\n",
                     "\"stream_id\" is missing"),
        records_with("NoFrameIndex", "{\"stream_id\": \"s\", \"objects\": []}\n",
                     "\"frame_index\" is missing"),
        records_with("FrameIndexBelowZero", test::record_of(-3, {}),
                     "\"frame_index\" is -3; frames are counted from 0"),
        records_with("FrameIndexThatIsNoInteger",
                     R"({"stream_id":"s","frame_index":1.5,"objects":[]})",
                     "\"frame_index\" is 1.5, which is not a whole number"),
        records_with("ObjectsThatAreNoList", R"({"stream_id":"s","frame_index":1,"objects":{}})",
                     "\"objects\" is {}, which is not a list"),
        records_with("FrameTwice", test::record_of(0, {}),
                     "frame 0 is already in line 1; a frame has one record"),
        object_with(
            "NegativeSize", [](EvalJson& object) { object["bbox"]["w"] = -10; },
            "the box's size is -10.0 x 10.0; width and height must be >= 0"),
        object_with(
            "SizeThatIsNull", [](EvalJson& object) { object["bbox"]["h"] = nullptr; },
            "\"h\" is null, which is not a finite number"),
        object_with(
            "BoxWithoutSide", [](EvalJson& object) { object["bbox"].erase("x"); },
            "\"x\" is missing"),
        object_with(
            "HugeBox",
            [](EvalJson& object) { object["bbox"]["x"] = object["bbox"]["w"] = 1.5e308; },
            "\"x + width\" is"),
        object_with(
            "ConfidenceThatIsText", [](EvalJson& object) { object["confidence"] = "high"; },
            "\"confidence\" is \"high\", which is not a finite number"),
        object_with(
            "NoName", [](EvalJson& object) { object.erase("name"); }, "\"name\" is missing"),
        records_with("TrackTwice",
                     test::record_of(1, {test::found_object("person", 0, 0, 1, 1, 1, "a"),
                                         test::found_object("person", 5, 0, 1, 1, 1, "a")}),
                     "two objects have the track_id \"a\""),
        WrongInput{
            .name = "NoRecords", .message = "frames.jsonl: it has no records", .found = "\n"},
        WrongInput{
            .name = "SeveralStreams",
            .message = "it has the records of several streams, \"a\", \"b\"; choose one with "
                       "--stream",
            .found = test::record_of(0, {}, "a") + test::record_of(0, {}, "b")},
        WrongInput{.name = "AStreamThatIsNotThere",
                   .message = "it has no stream \"entrence\"; there are \"entrance\"; did you mean",
                   .found = test::record_of(0, {}, "entrance"),
                   .options = {"--stream", "entrence"}},
        WrongInput{.name = "SeveralGroups",
                   .message = "stream \"s\" has 2 groups, each with its own frame numbers; choose "
                              "one with --group",
                   .found = R"({"stream_id":"s","group":0,"frame_index":0,"objects":[]})"
                            "\n"
                            R"({"stream_id":"s","group":1,"frame_index":0,"objects":[]})"},
        WrongInput{.name = "AGroupThatIsNotThere",
                   .message = "it has no group 4 of stream \"s\"",
                   .options = {"--group", "4"}},
        WrongInput{.name = "OtherFrames",
                   .message = "its records match no frame of",
                   .found = test::record_of(77, {})},
        WrongInput{.name = "OtherNames",
                   .message = "its objects have the names \"dog\", but the ground truth has the "
                              "categories \"person\"; pair them with --name NAME=CATEGORY",
                   .found = test::record_of(0, {test::found_object("dog", 0, 0, 1, 1, 1)})}),
    name_of_wrong);

WrongInput truth_with(const std::string& name, const std::function<void(EvalJson&)>& change,
                      const std::string& message, std::vector<std::string> options = {}) {
  EvalJson truth = test::two_people();
  change(truth);
  return {.name = name,
          .message = "truth.json" + message,
          .truth = truth.dump(),
          .options = std::move(options)};
}

INSTANTIATE_TEST_SUITE_P(
    Coco, EvalWrongInput,
    testing::Values(
        WrongInput{.name = "NoJson", .message = "truth.json: ", .truth = "{\"images\": ["},
        truth_with(
            "NoImages", [](EvalJson& truth) { truth.erase("images"); }, ": \"images\" is missing"),
        truth_with(
            "UnknownImage", [](EvalJson& truth) { truth["annotations"][1]["image_id"] = 99; },
            ", annotations[1]: the image_id 99 is not among the"),
        truth_with(
            "UnknownCategory", [](EvalJson& truth) { truth["annotations"][1]["category_id"] = 5; },
            ", annotations[1]: the category_id 5 is not among the"),
        truth_with(
            "NegativeWidth", [](EvalJson& truth) { truth["annotations"][0]["bbox"][2] = -1; },
            ", annotations[0]: the box's size is -1.0 x 10.0"),
        truth_with(
            "ShortBox",
            [](EvalJson& truth) {
              truth["annotations"][0]["bbox"] = {1, 2, 3};
            },
            ", annotations[0]: \"bbox\" is [1,2,3]; it must be [x, y, width, height]"),
        truth_with(
            "NegativeArea", [](EvalJson& truth) { truth["annotations"][0]["area"] = -4; },
            ", annotations[0]: \"area\" is -4.0"),
        truth_with(
            "OddFlag", [](EvalJson& truth) { truth["annotations"][0]["iscrowd"] = 3; },
            ", annotations[0]: \"iscrowd\" is 3; it must be 0 or 1"),
        truth_with(
            "ImageTwice", [](EvalJson& truth) { truth["images"][1]["id"] = 10; },
            ", images[1]: the id 10 belongs to another image already"),
        truth_with(
            "CategoryTwice",
            [](EvalJson& truth) {
              truth["categories"].push_back({{"id", 2}, {"name", "person"}});
            },
            ", categories[1]: the name \"person\" belongs to another category already"),
        truth_with(
            "TrackTwice",
            [](EvalJson& truth) {
              for (EvalJson& one : truth["annotations"])
                one.update({{"image_id", 10}, {"track_id", 4}});
            },
            ", annotations[1]: another object of the image has the track_id 4 already"),
        truth_with(
            "FrameTwice", [](EvalJson& truth) { truth["images"][1]["file_name"] = "other/0.png"; },
            ", images[1]: its frame number 0 is also that of images[0]; choose another "
            "--frames-by"),
        truth_with(
            "FrameBeforeTheFirst", [](EvalJson&) {},
            ", images[0]: its number is 0, below that of the first frame, 1; set --first-frame",
            {"--first-frame", "1"}),
        truth_with("NoFieldForTheFrame", [](EvalJson&) {},
                   ", images[0]: \"frame_index\" is missing", {"--frames-by", "field"}),
        truth_with("NoNumberInTheName",
                   [](EvalJson& truth) { truth["images"][0]["file_name"] = "a.png"; },
                   ", images[0]: its \"file_name\" has no frame number",
                   {"--frames-by", "file-name"}),
        truth_with(
            "NoObjects", [](EvalJson& truth) { truth["annotations"] = EvalJson::array(); },
            ": it has no object to find of \"person\""),
        WrongInput{.name = "UnknownName",
                   .message = "--name persn: the ground truth has no such category; there are "
                              "\"person\"; did you mean \"person\"?",
                   .options = {"--name", "persn"}},
        WrongInput{.name = "ResultsThatAreNoList",
                   .message = "found.json: results in COCO's format are a list",
                   .found_file = "found.json",
                   .found = "{}"},
        WrongInput{.name = "ResultsOfAnUnknownImage",
                   .message = "found.json, entry 0: the image_id 3 is not among the",
                   .found_file = "found.json",
                   .found = R"([{"image_id":3,"category_id":1,"bbox":[0,0,1,1],"score":1}])"},
        WrongInput{.name = "ResultsWithoutScore",
                   .message = "found.json, entry 0: \"score\" is missing",
                   .found_file = "found.json",
                   .found = R"([{"image_id":10,"category_id":1,"bbox":[0,0,1,1]}])"}),
    name_of_wrong);

WrongInput mot_with(const std::string& name, const std::string& line, const std::string& message) {
  return {.name = name,
          .message = "gt.txt, line 2: " + message,
          .truth_file = "gt.txt",
          .truth = "1,1,0,0,10,10,1,1,1\n" + line + "\n"};
}

WrongInput mot_found(const std::string& name, const std::string& found,
                     const std::string& message) {
  return {.name = name,
          .message = "found.txt, line 1: " + message,
          .truth_file = "gt.txt",
          .truth = "1,1,0,0,10,10,1,1,1\n",
          .found_file = "found.txt",
          .found = found};
}

INSTANTIATE_TEST_SUITE_P(
    Mot, EvalWrongInput,
    testing::Values(
        mot_with("FewColumns", "1,2,0,0,10,10", "it has 6 columns, but needs at least 7"),
        mot_with("NoNumber", "1,2,zero,0,10,10,1,1,1", "left is \"zero\", which is not a finite"),
        mot_with("Empty", "1,2,,0,10,10,1,1,1", "left is \"\", which is not a finite number"),
        mot_with("NaN", "1,2,nan,0,10,10,1,1,1", "left is \"nan\", which is not a finite number"),
        mot_with("NegativeHeight", "1,2,0,0,10,-10,1,1,1", "the box's size is 10.0 x -10.0"),
        mot_with("FrameZero", "0,2,0,0,10,10,1,1,1", "frame is 0; frames are counted from 1"),
        mot_with("HalfAFrame", "1.5,2,0,0,10,10,1,1,1", "frame is 1.5, which is not a whole"),
        mot_with("NegativeId", "1,-1,0,0,10,10,1,1,1", "id is -1; ids of objects must be >= 0"),
        mot_with("IdTwice", "1,1,50,0,10,10,1,1,1", "frame 1 has the id 1 already"),
        mot_found("FoundFewColumns", "1,2,0,0,10", "it has 5 columns, but needs at least 6"),
        mot_found("FoundInfinite", "1,2,0,inf,10,10", "top is \"inf\", which is not a finite"),
        WrongInput{.name = "NothingCounts",
                   .message = "gt.txt: it has no object to find of \"objects\"",
                   .truth_file = "gt.txt",
                   .truth = "1,1,0,0,10,10,0,1,1\n"},
        WrongInput{.name = "NothingAtAll",
                   .message = "gt.txt: it has no object to find of \"objects\"",
                   .truth_file = "gt.txt",
                   .truth = ""},
        WrongInput{.name = "SeveralNames",
                   .message = "its objects have the names \"dog\", \"person\"; choose one with "
                              "--name",
                   .truth_file = "gt.txt",
                   .truth = "1,1,0,0,10,10,1,1,1\n",
                   .found = test::record_of(0, {test::found_object("dog", 0, 0, 1, 1, 1),
                                                test::found_object("person", 0, 0, 1, 1, 1)})},
        WrongInput{
            .name = "ANameThatIsNotThere",
            .message = "no object has the name \"persn\"; there are \"person\"; did you mean",
            .truth_file = "gt.txt",
            .truth = "1,1,0,0,10,10,1,1,1\n",
            .options = {"--name", "persn"}},
        WrongInput{.name = "TwoNames",
                   .message = "--name: a MOT file has objects of one class at a time",
                   .truth_file = "gt.txt",
                   .truth = "1,1,0,0,10,10,1,1,1\n",
                   .options = {"--name", "person", "--name", "dog"}}),
    name_of_wrong);

WrongInput labels_with(const std::string& name, const std::string& file, const std::string& truth,
                       const std::string& message, const std::string& found = "a,cat\n") {
  return {.name = name,
          .message = message,
          .truth_file = file,
          .truth = truth,
          .found_file = "found.csv",
          .found = found};
}

INSTANTIATE_TEST_SUITE_P(
    Labels, EvalWrongInput,
    testing::Values(
        labels_with("Empty", "truth.csv", "", "truth.csv: it has no labels"),
        labels_with("HeaderAlone", "truth.csv", "file,label\n", "truth.csv: it has no labels"),
        labels_with("ThreeFields", "truth.csv", "a,cat\nb,c,d\n",
                    "truth.csv, line 2: \"b,c,d\" is not of the form FILE,LABEL"),
        labels_with("NoLabel", "truth.csv", "a,\n", "truth.csv, line 1: \"a,\" is not of the form"),
        labels_with("OpenQuote", "truth.csv", "\"a,cat\n",
                    "truth.csv, line 1: a quote is not closed"),
        labels_with("FileTwice", "truth.csv", "a,cat\na,dog\n",
                    "truth.csv, line 2: the file \"a\" has a label already"),
        labels_with("LabelThatIsNoText", "truth.json", R"({"a": 3})",
                    "truth.json: \"a\" is 3, which is not text"),
        labels_with("ListOfLabels", "truth.json", "[]",
                    "truth.json: it is not an object of file to label"),
        labels_with("UnknownFile", "truth.csv", "a1.png,cat\n",
                    "found.csv: the file \"a2.png\" is not in", "a2.png,cat\n")),
    name_of_wrong);

INSTANTIATE_TEST_SUITE_P(
    Options, EvalWrongInput,
    testing::Values(
        WrongInput{.name = "IouOfZero",
                   .message = "--iou: 0 is not allowed; give a number above 0 and at most 1",
                   .options = {"--iou", "0"}},
        WrongInput{.name = "IouAboveOne",
                   .message = "--iou: 1.5 is not allowed; give a number above 0 and at most 1",
                   .options = {"--iou", "1.5"}},
        WrongInput{.name = "ThresholdThatIsNoNumber",
                   .message = "is not a finite number; see vcap eval --help",
                   .options = {"--threshold", "high"}},
        WrongInput{.name = "ThresholdThatIsNan",
                   .message = "is not a finite number; see vcap eval --help",
                   .options = {"--threshold", "nan"}},
        WrongInput{.name = "UnknownFormat", .message = "--format", .options = {"--format", "dota"}},
        WrongInput{
            .name = "UnknownExtension",
            .message =
                "its name does not show its format; give --format coco, mot, yolo, csv, voc or "
                "labels",
            .truth_file = "truth.bin"},
        WrongInput{.name = "EmptyName",
                   .message = "--name \"=person\": a name is empty; write NAME or NAME=CATEGORY",
                   .options = {"--name", "=person"}},
        WrongInput{.name = "CategoryTwiceOver",
                   .message = "the category \"person\" is given twice",
                   .options = {"--name", "person", "--name", "man=person"}},
        WrongInput{.name = "BothRecordsAndResults",
                   .message = "--records excludes --results",
                   .options = {"--results", "found.json"}},
        WrongInput{.name = "MoreGroundTruthThanRecords",
                   .message = "1 given, but 2 of --ground-truth; give one for each",
                   .options = {"--ground-truth", "other.json"}},
        WrongInput{.name = "UnwritablePlots",
                   .message = "folder /proc/plots cannot be created",
                   .options = {"--plots", "/proc/plots"},
                   .exit_code = 7}),
    name_of_wrong);

TEST(EvalCommand, NamesAFileThatCannotBeRead) {
  const TemporaryFolder folder;
  const std::string truth = folder.write("truth.json", test::two_people().dump());
  const std::string records = folder.write("frames.jsonl", test::one_person_found());
  const Result no_records =
      test::vcap({"eval", "--records", folder / "none.jsonl", "--ground-truth", truth});
  EXPECT_EQ(no_records.exit_code, 6) << no_records;
  EXPECT_THAT(no_records.err, HasSubstr("none.jsonl cannot be read: No such file or directory"));
  const Result no_truth =
      test::vcap({"eval", "--records", records, "--ground-truth", folder / "none.txt"});
  EXPECT_EQ(no_truth.exit_code, 6) << no_truth;
  EXPECT_THAT(no_truth.err, HasSubstr("none.txt cannot be read"));
  const Result a_folder = test::vcap({"eval", "--records", folder.path(), "--ground-truth", truth});
  EXPECT_EQ(a_folder.exit_code, 6) << a_folder;
  EXPECT_THAT(a_folder.err, HasSubstr("it is a folder; name a file"));
}

TEST(EvalCommand, NeedsRecordsOrResults) {
  const Result result = test::vcap({"eval", "--ground-truth", "truth.json"});
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("--records or --results is required; see vcap eval --help"));
}

}  // namespace
}  // namespace vcap
