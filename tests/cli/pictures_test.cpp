// SPDX-License-Identifier: Apache-2.0
// What the command does with pictures that capsules give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "support/video_pictures.hpp"

namespace vcap {
namespace {

using test::images;
using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

/// Runs finder and masker.
Result run(std::vector<std::string> arguments) {
  std::vector<std::string> words{"run", "--capsule", test::capsule("masker"), "--capsule",
                                 test::capsule("finder")};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return test::vcap(words);
}

TEST(PicturesInRun, AreWrittenAsAClipAndDescribedInRecords) {
  const TemporaryFolder folder;
  const std::string clip = (folder / "clip.mp4").string();
  const Result result = run({"--source", images(folder, "shots", 5), "--jsonl", "-", "--video",
                             clip, "--picture", "mask"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out,
              HasSubstr(R"("pictures":[{"name":"mask","type":"8UC1","width":64,"height":48}])"));
  EXPECT_THAT(result.out, HasSubstr(R"("objects":[{"name":"person")")) << "nodes stay";
  const std::vector<Frame> frames = test::frames_in(clip);
  ASSERT_THAT(frames, SizeIs(5));
  for (const Frame& frame : frames)
    EXPECT_LT(test::mean_difference(frame.image, cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(200))),
              4);
}

TEST(PicturesInRun, AreRefusedBeforeTheRunIfNoCapsuleGivesThem) {
  const TemporaryFolder folder;
  const Result result = run({"--source", images(folder, "shots", 2), "--video",
                             (folder / "clip.mp4").string(), "--picture", "maks"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("picture \"maks\""), HasSubstr("they give \"mask\""),
                                HasSubstr("did you mean \"mask\"?")));
  EXPECT_FALSE(std::filesystem::exists(folder / "clip.mp4"));
}

TEST(PicturesInRun, AreDrawnOnTheFramesAsLabels) {
  const TemporaryFolder folder;
  const std::string clip = (folder / "clip.mp4").string();
  const std::string source = images(folder, "shots", 2);
  const Result result = run({"--source", source, "--video", clip, "--draw", "label-map:mask"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(test::frames_in(clip), SizeIs(2));
  const Result wrong = run(
      {"--source", source, "--video", (folder / "wrong.mp4").string(), "--draw", "label-map:maks"});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean \"mask\"?"));
}

TEST(PicturesInInspect, AreListedWithTypeAndSize) {
  EXPECT_THAT(test::vcap({"inspect", test::capsule("masker")}).out,
              HasSubstr("gives     picture mask (8UC1, as large as the frame)\n"));
  const auto json =
      nlohmann::json::parse(test::vcap({"inspect", "--json", test::capsule("masker")}).out);
  EXPECT_EQ(json.at("info").at("gives_pictures"),
            nlohmann::json::parse(R"([{"name":"mask","type":"8UC1","size":"frame"}])"));
}

TEST(PicturesInCheckState, AreComparedByTheirPixels) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "shots", 20);
  const std::vector<std::string> words{"check-state", test::capsule("masker"),
                                       "--with",      test::capsule("finder"),
                                       "--source",    source};
  const Result honest = test::vcap(words);
  EXPECT_THAT(honest.out, HasSubstr("again, no slices   20 frames, the same\n")) << honest;
  std::vector<std::string> lie = words;
  lie.insert(lie.end(), {"--config", "masker={\"lies\":true}"});
  const Result liar = test::vcap(lie);
  EXPECT_EQ(liar.exit_code, 1) << liar;
  EXPECT_THAT(liar.out, HasSubstr("/pictures/0/sha256"));
}

}  // namespace
}  // namespace vcap
