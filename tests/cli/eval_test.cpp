// SPDX-License-Identifier: Apache-2.0
// Tests of vcap eval with valid input, whose figures can be computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/eval_files.hpp"
#include "support/temporary_folder.hpp"

namespace vcap {
namespace {

using test::EvalJson;
using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// Runs `vcap eval` with "--json -".
EvalJson figures(std::vector<std::string> words) {
  words.insert(words.begin(), "eval");
  words.insert(words.end(), {"--json", "-"});
  const Result result = test::vcap(words);
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, IsEmpty());
  return result.exit_code == 0 ? EvalJson::parse(result.out) : EvalJson();
}

TEST(EvalCommand, ComparesRecordsWithCocoAnnotations) {
  const TemporaryFolder folder;
  const std::string truth = folder.write("truth.json", test::two_people().dump());
  const std::string records = folder.write("frames.jsonl", test::one_person_found());
  const EvalJson result = figures({"--records", records, "--ground-truth", truth});

  EXPECT_EQ(result.at("schema"), "vcap.evaluation/1");
  EXPECT_EQ(result.at("iou"), 0.5);
  EXPECT_THAT(result.at("notes"), IsEmpty());
  const EvalJson& person = result.at("classes").at(0);
  EXPECT_EQ(person.at("name"), "person");
  EXPECT_EQ(person.at("detection"), EvalJson({{"true_positives", 1},
                                              {"false_positives", 1},
                                              {"misses", 1},
                                              {"precision", 0.5},
                                              {"recall", 0.5},
                                              {"f1", 0.5}}));
  // The precision is 1 at recalls 0 to 0.5.
  EXPECT_NEAR(person.at("average_precision").at("ap").get<double>(), 51.0 / 101, 1e-12);
  EXPECT_EQ(person.at("best").at("confidence"), 0.9);
  EXPECT_NEAR(person.at("best").at("f1").get<double>(), 2.0 / 3, 1e-12);
  EXPECT_FALSE(person.contains("tracking")) << "the annotations have no tracks";
}

TEST(EvalCommand, PrintsTables) {
  const TemporaryFolder folder;
  const Result result =
      test::vcap({"eval", "--records", folder.write("frames.jsonl", test::one_person_found()),
                  "--ground-truth", folder.write("truth.json", test::two_people().dump())});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(result.out,
            "Detection, IoU 0.5\n"
            "  class   objects  found  TP  FP  misses  precision  recall      F1  AP 0.5  "
            "AP 0.5:0.95  best F1      at\n"
            "  person        2      2   1   1       1     0.5000  0.5000  0.5000  0.5050       "
            "0.5050   0.6667  0.9000\n"
            "\nAverage precision and recall\n"
            "       0.5:0.95     0.5    0.75   small  medium  large\n"
            "  AP     0.5050  0.5050  0.5050  0.5050       -      -\n"
            "      1 a frame      10     100   small  medium  large\n"
            "  AR     0.5000  0.5000  0.5000  0.5000       -      -\n");
}

TEST(EvalCommand, LeavesOutObjectsBelowTheThreshold) {
  const TemporaryFolder folder;
  const EvalJson result = figures(
      {"--records", folder.write("frames.jsonl", test::one_person_found()), "--ground-truth",
       folder.write("truth.json", test::two_people().dump()), "--threshold", "0.5"});
  EXPECT_EQ(result.at("threshold"), 0.5);
  EXPECT_EQ(result.at("classes").at(0).at("detection").at("false_positives"), 0);
}

TEST(EvalCommand, CountsFramesWithoutRecordsAsMissedAndReportsThem) {
  const TemporaryFolder folder;
  const std::string records = folder.write(
      "frames.jsonl", test::record_of(0, {test::found_object("person", 0, 0, 10, 10, 0.9)}) +
                          test::record_of(7, {}));
  const EvalJson result = figures({"--records", records, "--ground-truth",
                                   folder.write("truth.json", test::two_people().dump())});
  EXPECT_EQ(result.at("classes").at(0).at("detection").at("misses"), 1);
  EXPECT_THAT(
      result.at("notes").get<std::vector<std::string>>(),
      ElementsAre(records + ": 1 record for frames that the ground truth does not have; left out",
                  records + ": 1 frame of 2 of the ground truth without a record, the first with "
                            "frame_index 1; their 1 object counts as missed"));
}

TEST(EvalCommand, PairsNamesOfRecordsWithCategories) {
  const TemporaryFolder folder;
  EvalJson truth = test::two_people();
  truth["categories"][0]["name"] = "pedestrian";
  const std::string truth_file = folder.write("truth.json", truth.dump());
  const std::string records = folder.write("frames.jsonl", test::one_person_found());
  const EvalJson result =
      figures({"--records", records, "--ground-truth", truth_file, "--name", "person=pedestrian"});
  EXPECT_EQ(result.at("classes").at(0).at("name"), "pedestrian");
  EXPECT_EQ(result.at("classes").at(0).at("detection").at("true_positives"), 1);
}

TEST(EvalCommand, ReportsWhichObjectsHaveNoCategory) {
  const TemporaryFolder folder;
  const std::string records = folder.write(
      "frames.jsonl", test::record_of(0, {test::found_object("person", 0, 0, 10, 10, 0.9),
                                          test::found_object("dog", 0, 0, 10, 10, 0.9)}) +
                          test::record_of(1, {}));
  const EvalJson result = figures({"--records", records, "--ground-truth",
                                   folder.write("truth.json", test::two_people().dump())});
  EXPECT_THAT(result.at("notes").get<std::vector<std::string>>(),
              ElementsAre(records + ": 1 object named \"dog\", which is not a category; left out"));
  EXPECT_EQ(result.at("classes").at(0).at("found_boxes"), 1);
}

TEST(EvalCommand, FindsObjectsAmongChildren) {
  const TemporaryFolder folder;
  EvalJson car = test::found_object("car", 0, 0, 50, 50, 0.9);
  car["children"].push_back(test::found_object("person", 0, 0, 10, 10, 0.9));
  const std::string records =
      folder.write("frames.jsonl", test::record_of(0, {car}) + test::record_of(1, {}));
  const EvalJson result =
      figures({"--records", records, "--ground-truth",
               folder.write("truth.json", test::two_people().dump()), "--name", "person"});
  EXPECT_EQ(result.at("classes").at(0).at("detection").at("true_positives"), 1);
}

/// A numbering of images, and the options for it.
struct Numbering {
  std::string name;
  EvalJson first, second;  ///< entries of "images"
  std::vector<std::string> options;
};

class EvalFrameNumbers : public testing::TestWithParam<Numbering> {};

TEST_P(EvalFrameNumbers, MatchThoseOfTheRecords) {
  const TemporaryFolder folder;
  EvalJson truth = test::two_people();
  truth["images"] = {GetParam().first, GetParam().second};
  const int first_id = GetParam().first.at("id"), second_id = GetParam().second.at("id");
  truth["annotations"][0]["image_id"] = first_id;
  truth["annotations"][1]["image_id"] = second_id;
  const std::string records = folder.write(
      "frames.jsonl", test::record_of(4, {test::found_object("person", 0, 0, 10, 10, 0.9)}) +
                          test::record_of(5, {test::found_object("person", 50, 0, 10, 10, 0.9)}));
  std::vector<std::string> words{"--records", records, "--ground-truth",
                                 folder.write("truth.json", truth.dump())};
  words.insert(words.end(), GetParam().options.begin(), GetParam().options.end());
  const EvalJson result = figures(words);
  EXPECT_EQ(result.at("classes").at(0).at("detection").at("true_positives"), 2);
  EXPECT_THAT(result.at("notes"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    EvalCommand, EvalFrameNumbers,
    testing::Values(Numbering{"ByField",
                              {{"id", 1}, {"file_name", "9.png"}, {"frame_index", 4}},
                              {{"id", 2}, {"file_name", "8.png"}, {"frame_index", 5}},
                              {}},
                    Numbering{"ByFileName",
                              {{"id", 1}, {"file_name", "camera2/shot_0004.jpg"}},
                              {{"id", 2}, {"file_name", "camera2/shot_0005.jpg"}},
                              {}},
                    Numbering{"ById", {{"id", 4}}, {{"id", 5}}, {}},
                    Numbering{"FromOne",
                              {{"id", 1}, {"file_name", "0005.jpg"}},
                              {{"id", 2}, {"file_name", "0006.jpg"}},
                              {"--first-frame", "1"}},
                    Numbering{"ByIdThoughThereAreNames",
                              {{"id", 4}, {"file_name", "0017.jpg"}},
                              {{"id", 5}, {"file_name", "0018.jpg"}},
                              {"--frames-by", "id"}}),
    [](const auto& test_info) { return test_info.param.name; });

TEST(EvalCommand, TakesImagesInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  EvalJson truth = test::two_people();
  truth["images"][0]["file_name"] = "shot10.png";
  truth["images"][1]["file_name"] = "shot9.png";
  const std::string records = folder.write(
      "frames.jsonl", test::record_of(0, {test::found_object("person", 50, 0, 10, 10, 0.9)}) +
                          test::record_of(1, {test::found_object("person", 0, 0, 10, 10, 0.9)}));
  const EvalJson result =
      figures({"--records", records, "--ground-truth", folder.write("truth.json", truth.dump()),
               "--frames-by", "order"});
  EXPECT_EQ(result.at("classes").at(0).at("detection").at("true_positives"), 2);
}

TEST(EvalCommand, ComparesCocoResults) {
  const TemporaryFolder folder;
  EvalJson truth = test::two_people();
  truth["annotations"].push_back(test::annotation(3, 10, 1, {200, 0, 100, 100}, {{"iscrowd", 1}}));
  const EvalJson results = {
      {{"image_id", 11}, {"category_id", 1}, {"bbox", {50, 0, 10, 5}}, {"score", 0.75}},
      {{"image_id", 10}, {"category_id", 1}, {"bbox", {210, 10, 10, 10}}, {"score", 0.5}}};
  const std::vector<std::string> words{"--results", folder.write("found.json", results.dump()),
                                       "--ground-truth", folder.write("t.json", truth.dump())};
  const EvalJson half = figures(words).at("classes").at(0).at("detection");
  EXPECT_EQ(half.at("true_positives"), 1);
  EXPECT_EQ(half.at("false_positives"), 0) << "a box on a crowd is not wrong";
  EXPECT_EQ(half.at("misses"), 1);

  std::vector<std::string> stricter = words;
  stricter.insert(stricter.end(), {"--iou", "0.6"});
  EXPECT_EQ(figures(stricter).at("classes").at(0).at("detection").at("true_positives"), 0);
}

TEST(EvalCommand, AveragesOverCategories) {
  const TemporaryFolder folder;
  EvalJson truth = test::two_people();
  truth["categories"].push_back({{"id", 2}, {"name", "dog"}});
  truth["annotations"].push_back(test::annotation(3, 10, 2, {20, 0, 10, 10}));
  const std::string records = folder.write(
      "frames.jsonl", test::record_of(0, {test::found_object("person", 0, 0, 10, 10, 0.9),
                                          test::found_object("dog", 20, 0, 10, 10, 0.9)}) +
                          test::record_of(1, {}));
  const EvalJson result =
      figures({"--records", records, "--ground-truth", folder.write("truth.json", truth.dump())});
  ASSERT_EQ(result.at("classes").size(), 2u);
  EXPECT_NEAR(result.at("mean_average_precision").at("ap").get<double>(), (51.0 / 101 + 1) / 2,
              1e-12);
}

/// Two people over three frames. Detections swap their tracks in the last frame.
std::string mot_truth() {
  return "1,1,0,0,10,10,1,1,1\n1,2,50,0,10,10,1,1,1\n"
         "2,1,0,0,10,10,1,1,1\n2,2,50,0,10,10,1,1,1\n"
         "3,1,0,0,10,10,1,1,1\n3,2,50,0,10,10,1,1,0.5\n";
}

void expect_swapped(const EvalJson& result) {
  const EvalJson& tracking = result.at("tracking");
  EXPECT_EQ(tracking.at("id_switches"), 2);
  EXPECT_EQ(tracking.at("matches"), 6);
  EXPECT_NEAR(tracking.at("mota").get<double>(), 4.0 / 6, 1e-12);
  EXPECT_NEAR(tracking.at("idf1").get<double>(), 4.0 / 6, 1e-12);
  EXPECT_NEAR(tracking.at("det_a").get<double>(), 1, 1e-12);
  // Of the six matches, four share 2 of 4 frames, and two share 1 of 5.
  EXPECT_NEAR(tracking.at("ass_a").get<double>(), (4 * 0.5 + 2 * 0.2) / 6, 1e-12);
  EXPECT_EQ(tracking.at("median_truth_length"), 3);
  EXPECT_EQ(tracking.at("hota_at").size(), 19u);
}

TEST(EvalCommand, ComparesMotResults) {
  const TemporaryFolder folder;
  const std::string found =
      "1,7,0,0,10,10,0.9,-1,-1,-1\r\n1,8,50,0,10,10,0.8,-1,-1,-1\r\n\r\n"
      "2,7,0,0,10,10,0.9,-1,-1,-1\n2,8,50,0,10,10,0.8,-1,-1,-1\n"
      "3, 8, 0, 0, 10, 10, 0.9, -1, -1, -1\n3,7,50,0,10,10,0.8,-1,-1,-1";
  const EvalJson result = figures({"--results", folder.write("found.txt", found), "--ground-truth",
                                   folder.write("gt.txt", mot_truth())});
  expect_swapped(result);
  EXPECT_EQ(result.at("classes").at(0).at("detection").at("f1"), 1.0);
}

/// The same as records; they count frames from 0.
std::string swapped_records(const std::string& name = "person") {
  std::string text;
  for (int frame = 0; frame < 3; ++frame)
    text += test::record_of(frame,
                            {test::found_object(name, 0, 0, 10, 10, 0.9, frame < 2 ? "a" : "b"),
                             test::found_object(name, 50, 0, 10, 10, 0.8, frame < 2 ? "b" : "a")});
  return text;
}

TEST(EvalCommand, ComparesRecordsWithMotGroundTruth) {
  const TemporaryFolder folder;
  expect_swapped(figures({"--records", folder.write("frames.jsonl", swapped_records()),
                          "--ground-truth", folder.write("gt.txt", mot_truth())}));
}

TEST(EvalCommand, ChoosesAmongTheNamesOfRecordsForMot) {
  const TemporaryFolder folder;
  std::string records = swapped_records();
  records += test::record_of(3, {test::found_object("dog", 0, 0, 9, 9, 0.5, "c")});
  const EvalJson result =
      figures({"--records", folder.write("frames.jsonl", records), "--ground-truth",
               folder.write("gt.txt", mot_truth()), "--name", "person"});
  expect_swapped(result);
  EXPECT_EQ(result.at("classes").at(0).at("name"), "person");
}

TEST(EvalCommand, ComparesTracksOfCocoAnnotations) {
  const TemporaryFolder folder;
  EvalJson truth = {{"images", EvalJson::array()},
                    {"categories", {{{"id", 1}, {"name", "person"}}}},
                    {"annotations", EvalJson::array()}};
  for (int frame = 0; frame < 3; ++frame) {
    truth["images"].push_back({{"id", 30 - frame}, {"frame_index", frame}});  // reverse order
    for (int track = 0; track < 2; ++track)
      truth["annotations"].push_back(test::annotation(
          2 * frame + track, 30 - frame, 1, {50.0 * track, 0, 10, 10}, {{"track_id", track}}));
  }
  expect_swapped(figures({"--records", folder.write("frames.jsonl", swapped_records()),
                          "--ground-truth", folder.write("truth.json", truth.dump())}));
}

TEST(EvalCommand, HandlesMotDistractorsAndObjectsThatDoNotCount) {
  const TemporaryFolder folder;
  const std::string truth =
      "1,1,0,0,10,10,1,1,1\n"
      "1,2,50,0,10,10,1,8,1\n"    // a distractor: neither correct nor wrong
      "1,3,100,0,10,10,0,1,1\n"   // does not count: a detection there is wrong
      "1,4,150,0,10,10,1,3,1\n";  // a car: likewise
  const std::string found = "1,1,0,0,10,10\n1,2,50,0,10,10\n1,3,100,0,10,10\n1,4,150,0,10,10\n";
  const std::vector<std::string> words{"--results", folder.write("found.txt", found),
                                       "--ground-truth", folder.write("gt.txt", truth)};
  const EvalJson tracking = figures(words).at("tracking");
  EXPECT_EQ(tracking.at("truth_boxes"), 1);
  EXPECT_EQ(tracking.at("found_boxes"), 3);

  std::vector<std::string> cars = words;
  cars.insert(cars.end(), {"--mot-class", "3", "--mot-distractor", "1"});
  const EvalJson of_cars = figures(cars).at("tracking");
  EXPECT_EQ(of_cars.at("truth_boxes"), 1);
  EXPECT_EQ(of_cars.at("found_boxes"), 2) << "boxes on objects 1 and 3, of class 1, are not wrong";
}

TEST(EvalCommand, AddsUpSequences) {
  const TemporaryFolder folder;
  const std::string truth = folder.write("gt.txt", mot_truth());
  const std::string one = folder.write("one.jsonl", swapped_records());
  const EvalJson twice = figures(
      {"--records", one, "--ground-truth", truth, "--records", one, "--ground-truth", truth});
  EXPECT_EQ(twice.at("tracking").at("id_switches"), 4);
  EXPECT_EQ(twice.at("tracking").at("truth_tracks"), 4);
  EXPECT_NEAR(twice.at("tracking").at("mota").get<double>(), 4.0 / 6, 1e-12);
}

TEST(EvalCommand, SaysThatTrackingIsNotScoredWithoutTracks) {
  const TemporaryFolder folder;
  const std::string records = folder.write("frames.jsonl", test::one_person_found());
  const EvalJson result =
      figures({"--records", records, "--ground-truth", folder.write("gt.txt", mot_truth())});
  EXPECT_FALSE(result.contains("tracking"));
  EXPECT_THAT(result.at("notes").dump(), HasSubstr("has a track, so tracking is not scored"));
}

TEST(EvalCommand, ChoosesAStream) {
  const TemporaryFolder folder;
  const std::string records =
      folder.write("frames.jsonl", test::one_person_found() + test::record_of(0, {}, "other") +
                                       test::record_of(1, {}, "other"));
  const std::string truth = folder.write("truth.json", test::two_people().dump());
  const EvalJson s = figures({"--records", records, "--ground-truth", truth, "--stream", "s"});
  EXPECT_EQ(s.at("classes").at(0).at("found_boxes"), 2);
  const EvalJson other =
      figures({"--records", records, "--ground-truth", truth, "--stream", "other"});
  EXPECT_EQ(other.at("classes").at(0).at("found_boxes"), 0);
}

TEST(EvalCommand, ComparesLabelsOfFiles) {
  const TemporaryFolder folder;
  const std::string truth =
      folder.write("truth.csv", "file,label\na.png,cat\nb.png,cat\n\"c,1.png\",dog\nd.png,dog\n");
  const std::string found =
      folder.write("found.json", R"({"a.png": "cat", "b.png": "dog", "c,1.png": "dog"})");
  const EvalJson result = figures({"--results", found, "--ground-truth", truth});
  const EvalJson& scores = result.at("classification");
  EXPECT_EQ(scores.at("accuracy"), 0.5);
  EXPECT_EQ(scores.at("confusion"), EvalJson({{1, 1}, {0, 1}}));
  EXPECT_EQ(scores.at("classes").at(1).at("not_found"), 1);
  EXPECT_THAT(result.at("notes").dump(), HasSubstr("1 image of 4 got no label"));
}

EvalJson labelled(const std::string& name, const std::string& colour, double confidence) {
  return {{"name", name}, {"attributes", {{"colour", colour}}}, {"confidence", confidence}};
}

TEST(EvalCommand, UsesTheMostConfidentObjectOfAFrameAsItsLabel) {
  const TemporaryFolder folder;
  for (const char* file : {"images/dog/10.png", "images/dog/9.png", "images/cat/1.png"})
    folder.write(file, "");
  folder.write("images/cat/.hidden.png", "");
  // vcap run reads them in this order: cat/1.png, dog/9.png, dog/10.png.
  const std::string records = folder.write(
      "frames.jsonl",
      test::record_of(0, {labelled("dog", "red", 0.2), labelled("cat", "blue", 0.8)}) +
          test::record_of(1, {labelled("cat", "cat", 0.9), labelled("dog", "dog", 0.3)}) +
          test::record_of(2, {labelled("dog", "dog", 0.3)}));
  const std::vector<std::string> words{"--records", records, "--ground-truth", folder / "images"};
  EXPECT_EQ(figures(words).at("classification").at("confusion"), EvalJson({{1, 0}, {1, 1}}));

  std::vector<std::string> by_attribute = words;
  by_attribute.insert(by_attribute.end(), {"--attribute", "colour", "--name", "dog"});
  const EvalJson colours = figures(by_attribute).at("classification");
  EXPECT_EQ(colours.at("right"), 2);
  EXPECT_EQ(colours.at("classes").at(2).at("label"), "red");
}

TEST(EvalCommand, PrintsTheConfusionMatrix) {
  const TemporaryFolder folder;
  const Result result =
      test::vcap({"eval", "--results", folder.write("found.csv", "a,cat\nb,dog\n"),
                  "--ground-truth", folder.write("truth.csv", "a,cat\nb,cat\n")});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(result.out,
            "Classification\n"
            "  1 of 2 right, accuracy 0.5000\n"
            "  class  samples  precision  recall      F1\n"
            "  cat          2     1.0000  0.5000  0.6667\n"
            "  dog          0     0.0000       -  0.0000\n"
            "  mean         2     1.0000  0.5000  0.6667\n"
            "\nTrue class (rows), found class (columns)\n"
            "       cat  dog  (none)\n"
            "  cat    1    1       0\n"
            "  dog    0    0       0\n");
}

TEST(EvalCommand, WritesFiguresAndPlots) {
  const TemporaryFolder folder;
  const std::vector<std::string> words{"eval",
                                       "--records",
                                       folder.write("frames.jsonl", swapped_records()),
                                       "--ground-truth",
                                       folder.write("gt.txt", mot_truth()),
                                       "--json",
                                       folder / "figures.json",
                                       "--plots",
                                       folder / "new/plots"};
  const Result result = test::vcap(words);
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, AllOf(StartsWith("Detection"), HasSubstr("ID switches")));
  expect_swapped(EvalJson::parse(test::read_file(folder / "figures.json")));
  for (const char* plot : {"new/plots/precision_recall.svg", "new/plots/hota.svg"}) {
    const std::string svg = test::read_file(folder / plot);
    EXPECT_THAT(svg, AllOf(StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""),
                           HasSubstr("<polyline points=\""), HasSubstr("</svg>\n")));
  }
  // Everything is found, so the precision stays at 1, at the top of the plot.
  EXPECT_THAT(test::read_file(folder / "new/plots/precision_recall.svg"),
              HasSubstr("<polyline points=\"60.0,34.0 260.0,34.0 460.0,34.0\""));

  const std::string once = test::read_file(folder / "new/plots/hota.svg");
  EXPECT_EQ(test::vcap(words).out, result.out);
  EXPECT_EQ(test::read_file(folder / "new/plots/hota.svg"), once)
      << "the same input gave another plot";
}

TEST(EvalCommand, EscapesLabelsInPlots) {
  const TemporaryFolder folder;
  const Result result =
      test::vcap({"eval", "--results", folder.write("found.csv", "a,<b> & c\n"), "--ground-truth",
                  folder.write("truth.csv", "a,<b> & c\n"), "--plots", folder / "plots"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(test::read_file(folder / "plots/confusion_matrix.svg"),
              AllOf(HasSubstr(">&lt;b&gt; &amp; c<"), Not(HasSubstr("<b>"))));
}

}  // namespace
}  // namespace vcap
