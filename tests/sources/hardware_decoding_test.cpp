// SPDX-License-Identifier: Apache-2.0
// Decoding by hardware, on machines with and without it.
#include <gmock/gmock.h>

#include <string>

#include <opencv2/core.hpp>

#include "support/camera.hpp"
#include "support/clip_writer.hpp"
#include "support/live_helpers.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr SourceOptions kByHardware{.hardware = HardwareDecoding::automatic};

struct Decoded {
  std::string decoder;
  std::vector<Frame> frames;
};

Decoded decode(const std::filesystem::path& clip, const SourceOptions& options) {
  const auto source = open_source(clip.string(), options);
  auto [frames, failure] = read_to_failure(*source);
  EXPECT_EQ(failure, "");
  return {source->info().decoder, std::move(frames)};
}

/// The greatest difference between a value in one frame and the same value in its counterpart.
double difference(const Decoded& one, const Decoded& other) {
  EXPECT_EQ(one.frames.size(), other.frames.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(one.frames.size(), other.frames.size()); ++i) {
    EXPECT_EQ(one.frames[i].pts, other.frames[i].pts);
    most = std::max(most, cv::norm(one.frames[i].image, other.frames[i].image, cv::NORM_INF));
  }
  return most;
}

class HardwareDecoded : public testing::Test {
 protected:
  const KeptLog log_;
  const TemporaryFolder folder_;
};

TEST_F(HardwareDecoded, IsOffByDefault) {
  write_clip(folder_ / "clip.mp4", {.frames = 3});
  EXPECT_EQ(decode(folder_ / "clip.mp4", {}).decoder, "h264");
  EXPECT_THAT(log_.text(), Not(HasSubstr("software")));
}

TEST_F(HardwareDecoded, FallsBackToSoftwareAndSaysWhyIfACodecHasNoHardware) {
  write_clip(folder_ / "clip.mkv", {.encoder = "ffv1", .frames = 5});
  const Decoded automatic = decode(folder_ / "clip.mkv", kByHardware);
  EXPECT_EQ(automatic.decoder, "ffv1");
  EXPECT_EQ(automatic.frames.size(), 5u);
  EXPECT_EQ(difference(automatic, decode(folder_ / "clip.mkv", {})), 0);
  EXPECT_THAT(log_.text(), HasSubstr("info: file " + (folder_ / "clip.mkv").string() +
                                     " is decoded in software, since no hardware for ffv1 can be "
                                     "used (this FFmpeg's decoder ffv1 supports no hardware)"));
}

TEST_F(HardwareDecoded, GivesTheSameFramesAsSoftware) {
  write_clip(folder_ / "clip.mp4", {.options = b_frames(false)});
  const Decoded software = decode(folder_ / "clip.mp4", {});
  const Decoded automatic = decode(folder_ / "clip.mp4", kByHardware);
  if (automatic.decoder == "h264") {
    EXPECT_EQ(difference(automatic, software), 0);
    EXPECT_THAT(log_.text(), AllOf(HasSubstr("is decoded in software, since no hardware for h264"),
                                   HasSubstr("vaapi: ")));
  } else {
    EXPECT_THAT(automatic.decoder, StartsWith("h264 ("));
    EXPECT_LE(difference(automatic, software), 8) << "the conversion may only round differently";
  }
}

TEST_F(HardwareDecoded, LooksForHardwareOnceForAllLoops) {
  write_clip(folder_ / "clip.mkv", {.encoder = "ffv1", .frames = 3});
  SourceOptions options = kByHardware;
  options.loop = 3;
  EXPECT_EQ(decode(folder_ / "clip.mkv", options).frames.size(), 9u);
  const std::string log = log_.text();
  EXPECT_EQ(log.find("is decoded in software"), log.rfind("is decoded in software"));
}

TEST_F(HardwareDecoded, WorksForCamerasToo) {
  const Camera camera(std::vector<Camera::Visit>(2, {.pictures = 30}));
  SourceOptions options = kByHardware;
  options.reconnect = {.first_delay = std::chrono::milliseconds(1), .max_attempts = 1};
  const auto source = open_source(camera.url(), options);
  const auto [frames, failure] = read_to_failure(*source);
  EXPECT_EQ(frames_with(Discontinuity::reconnect, frames).size(), 1u);
  EXPECT_THAT(source->info().decoder, StartsWith("mjpeg"));
}

}  // namespace
}  // namespace vcap::test
