// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/pictures.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/picture_description.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names_of(const Pictures& pictures) {
  std::vector<std::string> names;
  for (const auto& [name, image] : pictures) names.push_back(name);
  return names;
}

TEST(Pictures, AreInTheOrderOfTheirNamesAndShareTheirPixels) {
  const cv::Mat mask(2, 3, CV_8UC1, cv::Scalar(1));
  Pictures pictures;
  pictures.set("mask", mask);
  pictures.set("depth", cv::Mat(2, 3, CV_32FC1));
  EXPECT_THAT(names_of(pictures), ElementsAre("depth", "mask"));
  const Pictures copy = pictures;
  EXPECT_EQ(copy.at("mask").data, mask.data);
  EXPECT_EQ(copy, pictures);
}

TEST(Pictures, ReplaceAndEraseByName) {
  Pictures pictures;
  pictures.set("mask", cv::Mat(2, 3, CV_8UC1));
  const Pictures before = pictures;
  const cv::Mat other(4, 5, CV_8UC1);
  pictures.set("mask", other);
  EXPECT_EQ(pictures.size(), 1u);
  EXPECT_EQ(pictures.at("mask").data, other.data);
  EXPECT_NE(pictures, before);
  pictures.erase("depth");
  pictures.erase("mask");
  EXPECT_THAT(names_of(pictures), IsEmpty());
}

TEST(Pictures, NameThoseThatThereAreIfOneIsMissing) {
  Pictures pictures;
  EXPECT_EQ(pictures.find("mask"), nullptr);
  EXPECT_THAT([&] { pictures.at("mask"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("none at all")));
  pictures.set("depth", cv::Mat(2, 3, CV_32FC1));
  EXPECT_THAT([&] { pictures.at("mask"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("no picture \"mask\" here (depth)")));
}

TEST(DetectionNodes, CarryPicturesOfEveryKindAndMoveThem) {
  const cv::Mat mask(2, 3, CV_8UC1, cv::Scalar(1));
  for (DetectionNodes nodes : {DetectionNodes::none(), DetectionNodes::single({.name = "a"}),
                               DetectionNodes::all({{.name = "a"}})}) {
    nodes.give_picture("mask", mask);
    DetectionNodes moved = std::move(nodes);
    EXPECT_THAT(names_of(nodes.pictures()), IsEmpty());  // NOLINT: moved from, as documented
    EXPECT_EQ(moved.pictures().at("mask").data, mask.data);
    static_cast<void>(std::move(moved).take());
    EXPECT_THAT(names_of(moved.pictures()), ElementsAre("mask"));  // NOLINT: take() leaves them
    EXPECT_THAT(names_of(std::move(moved).pictures()), ElementsAre("mask"));
    EXPECT_THAT(names_of(moved.pictures()), IsEmpty());  // NOLINT: moved out just now
  }
}

TEST(DetectionNodes, GiveTheirPicturesAwayAndKeepTheirNodes) {
  DetectionNodes nodes = DetectionNodes::all({{.name = "person"}});
  nodes.give_picture("mask", cv::Mat(2, 2, CV_8UC1, cv::Scalar(0)));
  EXPECT_EQ(nodes.take_pictures().size(), 1u);
  EXPECT_TRUE(nodes.pictures().empty());
  EXPECT_EQ(nodes.size(), 1u);
}

TEST(PictureDescription, IsTheSameAfterJson) {
  for (const PictureDescription& description : std::vector<PictureDescription>{
           {.name = "blurred"},
           {.name = "mask", .type = CV_8UC1, .size = PictureSize::any},
           {.name = "depth",
           .type = CV_32FC1,
           .size = PictureSize::fixed,
           .fixed_size = {256, 144}},
           {.name = "features", .type = CV_16FC(512), .size = PictureSize::any}}) {
    const nlohmann::json json = description;
    EXPECT_EQ(json.get<PictureDescription>(), description) << json;
  }
}

TEST(PictureDescription, IsWrittenForPeople) {
  EXPECT_EQ(to_string(PictureDescription{.name = "blurred"}),
            "blurred (8UC3, as large as the frame)");
  EXPECT_EQ(
      to_string(PictureDescription{
          .name = "depth", .type = CV_32FC1, .size = PictureSize::fixed, .fixed_size = {256, 144}}),
      "depth (32FC1, 256 × 144)");
  EXPECT_EQ(to_string(PictureDescription{.name = "m", .type = CV_8UC1, .size = PictureSize::any}),
            "m (8UC1, of any size)");
}

TEST(PictureDescription, RefusesWrongJson) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {R"({"name":"m","type":"8UC0","size":"any"})", "/type"},
      {R"({"name":"m","type":"8UC03","size":"any"})", "/type"},
      {R"({"name":"m","type":"9UC3","size":"any"})", "/type"},
      {R"({"name":"m","type":"8U","size":"any"})", "/type"},
      {R"({"name":"m","type":"8UC513","size":"any"})", "/type"},
      {R"({"name":"m","type":"8UC1","size":"large"})", "/size"},
      {R"({"name":"m","type":"8UC1","size":"fixed","width":0,"height":2})", "/width"},
      {R"({"name":"m","type":"8UC1","size":"fixed","width":2,"height":3000000000})", "/height"},
      {R"({"type":"8UC1","size":"any"})", "name"}};
  for (const auto& one : wrong)
    EXPECT_THAT([&] { nlohmann::json::parse(one.first).get<PictureDescription>(); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr(one.second)))
        << one.first;
}

TEST(PictureDescription, FitsIfEveryPictureOfItDoes) {
  const auto with = [](PictureSize size, cv::Size fixed = {}) {
    return PictureDescription{.name = "m", .type = CV_8UC1, .size = size, .fixed_size = fixed};
  };
  const auto frame = with(PictureSize::frame), any = with(PictureSize::any),
             small = with(PictureSize::fixed, {4, 4}), large = with(PictureSize::fixed, {8, 8});
  EXPECT_TRUE(fits(frame, frame) && fits(frame, any) && fits(small, any) && fits(small, small));
  EXPECT_FALSE(fits(any, frame) || fits(any, small) || fits(small, large) || fits(small, frame));
  PictureDescription other = any;
  other.type = CV_8UC3;
  EXPECT_FALSE(fits(frame, other));
  other = any;
  other.name = "n";
  EXPECT_FALSE(fits(frame, other));
}

}  // namespace
}  // namespace vcap::test
