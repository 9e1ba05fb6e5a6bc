// SPDX-License-Identifier: Apache-2.0
#include "media/clip_format.hpp"

#include <gmock/gmock.h>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ClipFormat, HasADefaultForEachContainer) {
  EXPECT_EQ(clip_format("a.mp4", {}).codec, VideoCodec::h264);
  EXPECT_EQ(clip_format("a.mp4", {}).quality, 23);
  EXPECT_EQ(clip_format("folder/a.MKV", {}).codec, VideoCodec::h264);
  EXPECT_EQ(clip_format("a.avi", {}).codec, VideoCodec::mjpeg);
  EXPECT_TRUE(clip_format("a.avi", {}).fixed_rate);
}

TEST(ClipFormat, NamesAnExtensionThatItDoesNotKnow) {
  EXPECT_THAT([] { clip_format("a.gif", {}); },
              ThrowsError<OutputError>(ErrorCode::output_open,
                                       AllOf(HasSubstr("a.gif"), HasSubstr(".mp4, .mkv or .avi"))));
  EXPECT_THAT([] { clip_format("a", {}); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr(".mp4, .mkv or .avi")));
}

TEST(ClipFormat, NamesTheCodecsOfAContainer) {
  EXPECT_THAT([] { clip_format("a.avi", {.codec = VideoCodec::h264}); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_argument,
                  AllOf(HasSubstr("a.avi"), HasSubstr("codec h264 is not allowed in .avi"),
                        HasSubstr("allowed are mjpeg, mpeg4"))));
  EXPECT_THAT([] { clip_format("a.mp4", {.codec = VideoCodec::mjpeg}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("h264, h265, vp9, av1, mpeg4")));
  EXPECT_THAT([] { clip_format("a.mp4", {.codec = static_cast<VideoCodec>(99)}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("codec 99")));
}

struct Range {
  VideoCodec codec;
  int least;
  int most;
};

class QualityOfAClip : public testing::TestWithParam<Range> {};

TEST_P(QualityOfAClip, IsWithinTheRangeOfItsCodec) {
  const auto [codec, least, most] = GetParam();
  for (const int quality : {least, most})
    EXPECT_EQ(clip_format("a.mkv", {.codec = codec, .quality = quality}).quality, quality);
  for (const int quality : {least - 1, most + 1})
    EXPECT_THAT(
        ([&, &codec = codec] { clip_format("a.mkv", {.codec = codec, .quality = quality}); }),
        ThrowsError<InvalidArgument>(
            ErrorCode::invalid_argument,
            AllOf(HasSubstr("a.mkv"), HasSubstr("quality " + std::to_string(quality)),
                  HasSubstr(std::string(to_string(codec))),
                  HasSubstr("within " + std::to_string(least) + " to " + std::to_string(most)),
                  HasSubstr("lower is better"))));
}

INSTANTIATE_TEST_SUITE_P(
    ClipFormat, QualityOfAClip,
    testing::Values(Range{VideoCodec::h264, 0, 51}, Range{VideoCodec::h265, 0, 51},
                    Range{VideoCodec::vp9, 0, 63}, Range{VideoCodec::av1, 0, 63},
                    Range{VideoCodec::mpeg4, 1, 31}, Range{VideoCodec::mjpeg, 1, 31}),
    [](const auto& one) { return std::string(to_string(one.param.codec)); });

TEST(ClipFormat, NamesAnEncoderThatLibavcodecLacks) {
  EXPECT_THAT([] { find_encoder("libnone", "output a.mp4", "av1"); },
              ThrowsError<OutputError>(
                  ErrorCode::output_open,
                  AllOf(HasSubstr("output a.mp4"), HasSubstr("codec av1"), HasSubstr("libnone"),
                        HasSubstr("not built into this machine's libavcodec"),
                        HasSubstr("choose another codec"))));
}

TEST(VideoCodec, IsFoundByItsName) {
  for (const VideoCodec codec : {VideoCodec::h264, VideoCodec::h265, VideoCodec::vp9,
                                 VideoCodec::av1, VideoCodec::mpeg4, VideoCodec::mjpeg})
    EXPECT_EQ(video_codec(to_string(codec)), codec);
  EXPECT_EQ(to_string(VideoCodec::automatic), "automatic");
  EXPECT_THAT([] { video_codec("h246"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           AllOf(HasSubstr("\"h246\""), HasSubstr("\"mjpeg\""),
                                                 HasSubstr("did you mean \"h264\"?"))));
}

}  // namespace
}  // namespace vcap::test
