// SPDX-License-Identifier: Apache-2.0
// What a host may give a capsule that it calls itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <opencv2/core.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Capsule> make_finder(CapsuleInfo info = detector_info()) {
  return make_capsule(std::move(info), [](const Frame&, DetectionNodes, const auto&, auto&) {
    return DetectionNodes::all();
  });
}

Frame with_picture(cv::Mat picture) { return {.image = std::move(picture), .index = 7}; }

TEST(CapsulePicture, IsRefusedWithItsTypeAndTheRemedyUnlessItIsBgrOfEightBits) {
  const int cube[] = {4, 5, 6};
  const struct {
    cv::Mat picture;
    const char* value;
    const char* remedy;
  } cases[] = {
      {cv::Mat(), "is empty (0 × 0 pixels)", "check that it was read"},
      {cv::Mat(0, 9, CV_8UC3), "is empty (0 × 9 pixels)", "check that it was read"},
      {cv::Mat(4, 6, CV_8UC1), "of 4 × 6 is CV_8UC1", "cv::COLOR_GRAY2BGR"},
      {cv::Mat(4, 6, CV_8UC4), "of 4 × 6 is CV_8UC4", "cv::COLOR_BGRA2BGR"},
      {cv::Mat(4, 6, CV_8UC2), "of 4 × 6 is CV_8UC2", "three channels"},
      {cv::Mat(4, 6, CV_32FC3), "of 4 × 6 is CV_32FC3", "convertTo(picture, CV_8U, 255)"},
      {cv::Mat(4, 6, CV_64FC1), "of 4 × 6 is CV_64FC1", "convertTo(picture, CV_8U, 255)"},
      {cv::Mat(4, 6, CV_16UC3), "of 4 × 6 is CV_16UC3", "1.0 / 257"},
      {cv::Mat(4, 6, CV_16SC3), "of 4 × 6 is CV_16SC3", "convertTo(picture, CV_8U)"},
      {cv::Mat(3, cube, CV_8UC3), "of 4 × 5 × 6 is CV_8UC3", "one picture of height × width"},
  };
  const auto capsule = make_finder();
  for (const auto& [picture, value, remedy] : cases) {
    const Frame frame = with_picture(picture);
    EXPECT_THAT([&] { capsule->process_frame(frame); },
                ThrowsError<InvalidArgument>(
                    ErrorCode::invalid_argument,
                    AllOf(HasSubstr("capsule detector_fake was given frame 7, whose picture"),
                          HasSubstr(value), HasSubstr(remedy))));
  }
  EXPECT_NO_THROW(capsule->process_frame(with_picture(cv::Mat(4, 6, CV_8UC3))));
  EXPECT_NO_THROW(
      capsule->process_frame(with_picture(cv::Mat(40, 60, CV_8UC3)(cv::Rect(1, 2, 3, 4)))))
      << "a part of a picture";
}

TEST(CapsulePicture, IsCheckedInEachFrameThatGoesTogetherWithOthers) {
  const auto capsule = make_finder();
  const std::vector<Frame> frames{frame_at(0), with_picture(cv::Mat(4, 6, CV_8UC1))};
  std::vector<DetectionNodes> nodes(2);
  EXPECT_THAT(
      [&] { capsule->process_frames(frames, nodes); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("given frame 7")));
}

TEST(CapsulePicture, IsCheckedInEachFrameOfAWindowThatIsNotNull) {
  CapsuleInfo info = detector_info();
  info.stencil = {{-1, 0}};
  class Windows final : public Backend {
   public:
    DetectionNodes process_window(std::span<const Frame>, std::span<DetectionNodes>,
                                  const OptionValues&, BaseStreamState&) override {
      return DetectionNodes::all();
    }
  };
  Capsule capsule =
      test::capsule_of(info, author_of([](auto&&...) { return std::make_unique<Windows>(); }),
                       Capsule::Setup{.devices = {"CPU:0"}});
  std::vector<DetectionNodes> nodes(2);
  std::vector<Frame> window{with_picture(cv::Mat(4, 6, CV_8UC4)), frame_at(8)};
  EXPECT_THAT(
      [&] { capsule.process_window(window[1], window, nodes); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("given frame 7")));
  window[0] = {.is_null = true};
  EXPECT_NO_THROW(capsule.process_window(window[1], window, nodes));
}

TEST(StatefulCapsule, IsNotCalledWithoutAStreamId) {
  CapsuleInfo info = detector_info();
  info.stream_state = make_stream_state<BaseStreamState>();
  const auto capsule = make_finder(info);
  EXPECT_THAT([&] { capsule->process_frame(frame_at(3)); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_argument,
                  AllOf(HasSubstr("capsule detector_fake keeps a state for each stream"),
                        HasSubstr("frame 3"), HasSubstr("the stream's id is \"\""),
                        HasSubstr("process_frame(frame, nodes, options, \"door\")"))));
  EXPECT_EQ(capsule->stream_count(), 0u) << "no state was made";
  EXPECT_NO_THROW(capsule->process_frame(frame_at(3), {}, {}, "door"));
  EXPECT_NO_THROW(capsule->process_frame(frame_at(4), {}, {}, capsule->open_apart({.id = ""})))
      << "a handle says which stream it is";
}

}  // namespace
}  // namespace vcap::test
