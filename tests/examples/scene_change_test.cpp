// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "examples/streams.hpp"
#include "support/temporary_folder.hpp"

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A picture of the scene `scene`, with a figure at `place`; '*' is a flash.
cv::Mat scene_picture(char scene, int place, cv::Size size) {
  static const std::map<char, cv::Scalar> colors = {
      {'a', {40, 120, 60}}, {'b', {150, 60, 40}}, {'c', {30, 40, 160}}, {'*', {250, 250, 250}}};
  cv::Mat picture(size, CV_8UC3, colors.at(scene));
  const int side = size.height / 4;
  if (scene != '*')
    cv::rectangle(picture, cv::Rect(place * side / 4, side, side, side), cv::Scalar(20, 20, 20),
                  cv::FILLED);
  return picture;
}

class SceneChange : public testing::Test {
 protected:
  /// Indexes of the frames at which it finds a change.
  std::vector<std::int64_t> changes(const std::string& scenes, cv::Size size = {160, 120},
                                    std::vector<std::int64_t> seeks = {}) {
    std::vector<cv::Mat> pictures;
    for (const char scene : scenes)
      pictures.push_back(scene_picture(scene, static_cast<int>(pictures.size()), size));
    return changes_of(examples::run(capsule_, pictures, std::move(seeks)));
  }

  static std::vector<std::int64_t> changes_of(const std::vector<vcap::FrameRecord>& records) {
    std::vector<std::int64_t> indexes;
    for (const vcap::FrameRecord& record : records)
      if (!record.objects.empty()) indexes.push_back(record.frame.index);
    return indexes;
  }

  std::shared_ptr<vcap::Capsule> capsule_ = examples::load("scene_change");
};

struct CutCase {
  const char* scenes;
  std::vector<std::int64_t> cuts;
};

TEST_F(SceneChange, FindsTheFirstFrameOfEachScene) {
  const CutCase cases[] = {
      {"aaaaaa", {}},       {"aaabbb", {3}},  {"aabbccaa", {2, 4, 6}},
      {"abbbbb", {1}},  // there is no frame before the first
      {"aaaaab", {5}},  // nor one after the last
      {"ab", {1}},          {"a", {}},        {"aaa*aaa", {}},  // a flash comes and goes
      {"*aaaa", {1}},       {"aaa*bbb", {4}},                   // a flash between two scenes
      {"aaa**aaa", {3, 5}},                                     // two frames are a scene
      {"abcabc", {5}},                                          // only the last may stay
  };
  for (const CutCase& one : cases) EXPECT_EQ(changes(one.scenes), one.cuts) << one.scenes;
}

TEST_F(SceneChange, ComparesNothingAcrossADiscontinuity) {
  EXPECT_THAT(changes("aaabbb", {160, 120}, {3}), IsEmpty());
  EXPECT_THAT(changes("aaabbbcc", {160, 120}, {3}), ElementsAre(6));
}

TEST_F(SceneChange, ReportsTheFrameAndTheDistanceOfTheScenes) {
  std::vector<cv::Mat> pictures(2, cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(0)));
  pictures.resize(4, cv::Mat(48, 64, CV_8UC3, cv::Scalar(0, 0, 255)));
  const auto records = examples::run(capsule_, pictures);
  ASSERT_EQ(records[2].objects.size(), 1u);
  const vcap::DetectionNode& change = records[2].objects.front();
  EXPECT_EQ(change.name, "scene_change");
  EXPECT_EQ(change.bbox(), (vcap::BoundingBox{0, 0, 64, 48}));
  EXPECT_DOUBLE_EQ(change.extra_data.at("score").get<double>(), 1) << "they share no colour";
}

// Half of the picture differs: Hellinger's distance is √(1 − √½), or 0.541.
TEST_F(SceneChange, RequiresTheDistanceOfItsOption) {
  const cv::Mat one(48, 64, CV_8UC3, cv::Scalar::all(0));
  cv::Mat other = one.clone();
  other(cv::Rect(0, 0, 32, 48)) = cv::Scalar(0, 0, 255);
  for (const auto& [threshold, found] : {std::pair(0.54, 1u), std::pair(0.55, 0u)}) {
    vcap::OptionValues options = capsule_->default_options();
    options.set("threshold", threshold);
    const vcap::Frame window[] = {
        {.image = one}, {.image = one}, {.image = other}, {.image = other}};
    vcap::DetectionNodes nodes[4];
    EXPECT_EQ(capsule_->process_window(window[2], window, nodes, options).size(), found);
  }
}

TEST_F(SceneChange, AcceptsPicturesOfAnySize) {
  for (const cv::Size size : {cv::Size(1, 1), {3, 2}, {2000, 1}, {641, 479}})
    EXPECT_THAT(changes("aaabbb", size), ElementsAre(3)) << size;
}

TEST_F(SceneChange, FindsTheCutsOfAFilm) {
  const std::string film = examples::footage("Megamind.avi").string();
  EXPECT_THAT(changes_of(examples::run(capsule_, {.source = vcap::open_source(film)})),
              ElementsAre(1, 98, 154, 200));
}

TEST_F(SceneChange, FindsNoCutIfTheCameraStaysAndPeopleWalk) {
  EXPECT_THAT(changes_of(examples::run(capsule_, examples::read_frames(examples::footage(), 100))),
              IsEmpty());
}

TEST_F(SceneChange, GivesTheSameWithAnyNumberOfThreads) {
  EXPECT_TRUE(examples::gives_the_same_with_any_threads(
      capsule_, examples::read_frames(examples::footage("Megamind.avi"), 110)));
}

}  // namespace
