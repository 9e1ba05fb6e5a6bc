// SPDX-License-Identifier: Apache-2.0
// The pictures that a capsule gives and takes are held against what it declares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capsule/fake_capsule.hpp"
#include "capsule/picture_check.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/output_policy.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Matcher;

const cv::Size kFrame(8, 6);

cv::Mat picture(int type = CV_8UC3, cv::Size size = kFrame) {
  return {size, type, cv::Scalar::all(0)};
}

Frame frame() { return {.image = picture()}; }

/// A capsule that takes nothing but the frame and gives a picture of each size rule.
CapsuleInfo giving_info() {
  CapsuleInfo info = detector_info();
  info.name = "giver";
  info.output_type = {};
  info.gives_pictures = {
      {.name = "blurred"},
      {.name = "depth", .type = CV_32FC1, .size = PictureSize::fixed, .fixed_size = {4, 3}},
      {.name = "crop", .size = PictureSize::any}};
  return info;
}

Pictures declared_pictures() {
  Pictures pictures;
  pictures.set("blurred", picture());
  pictures.set("depth", picture(CV_32FC1, {4, 3}));
  pictures.set("crop", picture(CV_8UC3, {1, 1}));
  return pictures;
}

DetectionNodes output_with(const Pictures& pictures) {
  DetectionNodes output;
  for (const auto& [name, image] : pictures) output.give_picture(name, image);
  return output;
}

/// The pictures after they have left a capsule that gives them.
Pictures after_leaving(const Pictures& pictures, OutputPolicy policy = {}) {
  Capsule capsule =
      test::capsule_of(giving_info(), author_of([&](const CapsuleFiles&, const std::string&) {
                         auto backend = std::make_unique<FakeBackend>();
                         backend->process = [pictures](auto&&...) { return output_with(pictures); };
                         return backend;
                       }),
                       Capsule::Setup{.devices = {"CPU:0"}, .outputs = policy});
  return capsule.process_frame(frame()).pictures();
}

TEST(CapsulePictures, AreKeptAndNotCopiedIfTheyAreAsDeclared) {
  const Pictures given = declared_pictures();
  EXPECT_EQ(after_leaving(given), given);
}

struct PictureFault {
  std::string name;
  std::function<void(Pictures&)> spoil;
  Matcher<std::string> text;
  bool is_kept_with_warn = true;
};

const std::vector<PictureFault> kFaults{
    {"Undeclared", [](Pictures& all) { all.set("blured", picture()); },
     AllOf(HasSubstr("capsule giver, picture \"blured\" of its output: it is not declared"),
           HasSubstr("\"blurred\", \"depth\", \"crop\""), HasSubstr("did you mean \"blurred\"?"))},
    {"Missing", [](Pictures& all) { all.erase("depth"); },
     AllOf(HasSubstr("picture \"depth\""), HasSubstr("it is missing"),
           HasSubstr("the output has \"blurred\", \"crop\""))},
    {"OfAnotherType", [](Pictures& all) { all.set("blurred", picture(CV_8UC1)); },
     HasSubstr("its type is 8UC1, which is not the declared 8UC3")},
    {"NotAsLargeAsTheFrame",
     [](Pictures& all) {
       all.set("blurred", picture(CV_8UC3, {8, 5}));
     },
     HasSubstr("its size is 8 × 5 pixels; the declared one is that of the frame, 8 × 6")},
    {"NotOfTheFixedSize", [](Pictures& all) { all.set("depth", picture(CV_32FC1)); },
     HasSubstr("its size is 8 × 6 pixels; the declared one is 4 × 3")},
    {"Empty", [](Pictures& all) { all.set("crop", {}); }, HasSubstr("it is empty"), false},
    {"OfThreeDimensions",
     [](Pictures& all) {
       const int sizes[] = {2, 2, 2};
       all.set("crop", cv::Mat(3, sizes, CV_8UC1));
     },
     HasSubstr("it has 3 dimensions"), false},
    {"OfPixelsOfOthers",
     [](Pictures& all) {
       static unsigned char pixels[3] = {};
       all.set("crop", cv::Mat(1, 1, CV_8UC3, pixels));
     },
     AllOf(HasSubstr("does not own its pixels"), HasSubstr("clone()")), false}};

TEST(CapsulePictures, ArePassedOnOnlyAsDeclared) {
  for (const PictureFault& fault : kFaults) {
    Pictures given = declared_pictures();
    fault.spoil(given);
    EXPECT_THAT([&] { after_leaving(given); },
                ThrowsError<Error>(ErrorCode::invalid_output, fault.text))
        << fault.name;
    EXPECT_EQ(after_leaving(given, {.invalid = InvalidOutput::off}), given) << fault.name;
    const OutputPolicy warn{.invalid = InvalidOutput::warn};
    std::string warning;
    const auto check = [&] {
      detail::PictureCheck(giving_info()).check(given, kFrame, warn, warning);
    };
    if (!fault.is_kept_with_warn) {
      EXPECT_THAT(check, ThrowsError<Error>(ErrorCode::invalid_output, fault.text)) << fault.name;
      continue;
    }
    check();
    EXPECT_THAT(warning, fault.text) << fault.name;
  }
}

TEST(CapsulePictures, AreBoundedInPixelsAndInNumber) {
  const auto all = declared_pictures();
  constexpr std::size_t kPixels = 8 * 6 * 3 + 4 * 3 * 4 + 3;
  EXPECT_EQ(after_leaving(all, {.max_picture_bytes = kPixels}), all);
  EXPECT_THAT([&] { after_leaving(all, {.max_picture_bytes = kPixels - 1}); },
              ThrowsError<Error>(ErrorCode::invalid_output,
                                 HasSubstr("(OutputPolicy::max_picture_bytes)")));
  EXPECT_EQ(after_leaving(all, {.max_bytes = 300}), all) << "pixels do not count";
  EXPECT_THAT([&] { after_leaving(all, {.max_bytes = 100}); },
              ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("3 pictures")));
  EXPECT_THAT([] { check(OutputPolicy{.max_picture_bytes = 0}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("max_picture_bytes is 0")));
}

/// Takes a mask and people; gives the people back.
std::unique_ptr<Capsule> make_taker() {
  CapsuleInfo info = detector_info();
  info.name = "taker";
  info.input_type = info.output_type;
  info.takes_pictures = {{.name = "mask", .type = CV_8UC1}};
  return make_capsule(info, [](const Frame& frame, DetectionNodes nodes, auto&&...) {
    EXPECT_EQ(frame.pictures.at("mask").type(), CV_8UC1);
    EXPECT_TRUE(nodes.pictures().empty());
    return nodes;
  });
}

TEST(CapsulePictures, OfOtherCapsulesComeWithTheFrame) {
  Frame given = frame();
  given.pictures.set("mask", picture(CV_8UC1));
  const auto taker = make_taker();
  DetectionNodes nodes = DetectionNodes::all({{.name = "person"}});
  nodes.give_picture("mask", picture(CV_8UC1));  // as another capsule's output has them
  const DetectionNodes output = taker->process_frame(given, std::move(nodes));
  EXPECT_EQ(output.size(), 1u);
  EXPECT_TRUE(output.pictures().empty());
  EXPECT_THAT([&] { taker->process_frame(frame(), DetectionNodes::all()); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_argument,
                  AllOf(HasSubstr("takes picture mask (8UC1, as large as the frame)"),
                        HasSubstr("frame 0 has none"), HasSubstr("Frame::pictures"))));
}

TEST(CapsulePictures, OfOtherCapsulesAreRefusedIfTheyAreNotAsTheCapsuleTakesThem) {
  const struct {
    cv::Mat mask;
    const char* text;
  } cases[] = {
      {cv::Mat(), "frame 0 has an empty one"},
      {picture(CV_32FC1), "frame 0 has one of type 32FC1; convert it, or give 8UC1"},
      {picture(CV_8UC1, {4, 3}), "frame 0 of 8 × 6 pixels has one of 4 × 3; resize it"},
  };
  const auto taker = make_taker();
  for (const auto& [mask, text] : cases) {
    Frame given = frame();
    given.pictures.set("mask", mask);
    EXPECT_THAT([&] { taker->process_frame(given, DetectionNodes::all()); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)));
  }
}

}  // namespace
}  // namespace vcap::test
