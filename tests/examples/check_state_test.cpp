// SPDX-License-Identifier: Apache-2.0
// Every example gives the same records in every run, in slices and in batches, as far as it
// declares so. The command shows it.
#include <gmock/gmock.h>

#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "examples/examples.hpp"
#include "examples/networks.hpp"
#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Example {
  std::string capsule;
  std::vector<std::string> with{};       ///< the examples that provide nodes for it
  std::string source = "vtest.avi";      ///< beside vtest.avi
  std::string frames = "12";             ///< more than ten, so that one in ten shows something
  std::vector<std::string> arguments{};  ///< further ones
  bool has_network = false;

  friend std::ostream& operator<<(std::ostream& stream, const Example& example) {
    return stream << example.capsule;
  }
};

const std::string kLine = R"(line_counter={"line": [[0, 0.5], [1, 0.5]]})";

const std::vector<Example> kExamples{
    // More than twice its warm-up, 299 frames, so that half of the clip shows something.
    {.capsule = "background_motion", .frames = "610"},
    {.capsule = "classifier_clothing_color", .with = {"detector_person_hog"}},
    {.capsule = "classifier_face_emotion",
     .with = {"detector_face"},
     .source = "Megamind.avi",
     .has_network = true},
    {.capsule = "detector_face", .source = "Megamind.avi", .has_network = true},
    {.capsule = "detector_face_fast", .source = "Megamind.avi", .has_network = true},
    {.capsule = "detector_person", .frames = "40", .has_network = true},
    {.capsule = "detector_person_hog"},
    {.capsule = "detector_text", .source = "pictures/*.png", .has_network = true},
    {.capsule = "encoder_person", .with = {"detector_person_hog"}},
    {.capsule = "landmarks_face",
     .with = {"detector_face"},
     .source = "Megamind.avi",
     .has_network = true},
    {.capsule = "landmarks_pose", .with = {"detector_person"}, .has_network = true},
    {.capsule = "line_counter",
     .with = {"detector_person_hog", "tracker_person"},
     .arguments = {"--stream-config", kLine}},
    {.capsule = "motion_flow", .frames = "40"},
    {.capsule = "privacy_blur", .with = {"detector_person_hog"}},
    {.capsule = "quickstart"},
    {.capsule = "recognizer_text",
     .with = {"detector_text"},
     .source = "pictures/*.png",
     .has_network = true},
    {.capsule = "scene_change", .source = "Megamind.avi", .frames = "110"},
    {.capsule = "tracker_person", .with = {"detector_person_hog"}},
};

std::string source_of(const Example& example) {
  return (examples::footage().parent_path() / example.source).string();
}

class CheckedExample : public testing::TestWithParam<Example> {};

TEST_P(CheckedExample, GivesTheSameRecordsInEveryRun) {
  const Example& example = GetParam();
  if (example.has_network) {
    REQUIRE_NETWORK(example.capsule);
  }
  std::vector<std::string> words{"check-state",  examples::capsule_path(example.capsule).string(),
                                 "--source",     source_of(example),
                                 "--max-frames", example.frames};
  for (const std::string& other : example.with)
    words.insert(words.end(), {"--with", examples::capsule_path(other).string()});
  words.insert(words.end(), example.arguments.begin(), example.arguments.end());
  const vcap::test::Result result = vcap::test::vcap(words);
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, AllOf(HasSubstr("capsule " + example.capsule + " version"),
                                HasSubstr("again, no slices"), Not(HasSubstr("differ"))));
}

INSTANTIATE_TEST_SUITE_P(Examples, CheckedExample, testing::ValuesIn(kExamples),
                         [](const auto& test_info) { return test_info.param.capsule; });

/// Of the 444 frames that tree.avi announces, 376 are empty.
TEST(CheckedExamples, MayHaveAWholeClipWhateverItsHeaderAnnounces) {
  for (const char* const clip : {"Megamind.avi", "tree.avi"}) {
    SCOPED_TRACE(clip);
    const vcap::test::Result result =
        vcap::test::vcap({"check-state", examples::capsule_path("scene_change").string(),
                          "--source", examples::footage(clip).string()});
    EXPECT_EQ(result.exit_code, 0) << result;
    EXPECT_THAT(result.out,
                AllOf(testing::ContainsRegex("again, no slices   [1-9][0-9]+ frames, the same"),
                      HasSubstr("one frame in 10 "), Not(HasSubstr("differ"))));
    EXPECT_THAT(result.err, AllOf(Not(HasSubstr("cut off")), Not(HasSubstr("sampl"))));
  }
}

TEST(CheckedExamples, AreAllExamples) {
  std::set<std::string> checked;
  for (const Example& example : kExamples) checked.insert(example.capsule);
  std::set<std::string> there;
  for (const auto& entry : fs::directory_iterator(vcap::test::in_sources("examples/capsules")))
    if (entry.is_directory()) there.insert(entry.path().filename().string());
  EXPECT_EQ(checked, there);
}

}  // namespace
