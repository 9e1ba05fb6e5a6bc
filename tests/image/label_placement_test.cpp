// SPDX-License-Identifier: Apache-2.0
#include "image/label_placement.hpp"

#include <algorithm>
#include <chrono>
#include <random>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

namespace vcap {
namespace {

const cv::Size kImage(640, 480);
const cv::Size kLabelSize(60, 16);

LabelRequest request(const cv::Rect& box, const cv::Size& label = kLabelSize) {
  return {.box = box, .sizes = {label}};
}

std::optional<PlacedLabel> placed_alone(const LabelRequest& one) {
  return place_labels(std::span(&one, 1), kImage).at(0);
}

/// What must hold for every result.
void expect_readable(const std::vector<std::optional<PlacedLabel>>& placed,
                     std::span<const LabelRequest> requests, cv::Size image) {
  ASSERT_EQ(placed.size(), requests.size());
  const cv::Rect whole({}, image);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (!placed[i]) continue;
    const cv::Rect patch = placed[i]->patch;
    ASSERT_EQ(patch & whole, patch) << "outside the image: " << patch;
    ASSERT_LT(placed[i]->text, requests[i].sizes.size());
    ASSERT_EQ(patch.size(), requests[i].sizes[placed[i]->text]);
    for (std::size_t j = 0; j < i; ++j)
      if (placed[j]) {
        ASSERT_TRUE((patch & placed[j]->patch).empty())
            << "label " << i << " at " << patch << " covers label " << j << " at "
            << placed[j]->patch;
      }
  }
}

std::size_t count_placed(const std::vector<std::optional<PlacedLabel>>& placed) {
  return static_cast<std::size_t>(
      std::ranges::count_if(placed, [](const auto& one) { return one.has_value(); }));
}

TEST(LabelPlacement, PrefersThePlaceAboveTheBox) {
  EXPECT_EQ(placed_alone(request({100, 100, 80, 120})),
            (PlacedLabel{.patch = {100, 84, 60, 16}, .text = 0, .place = 0}));
}

TEST(LabelPlacement, GoesInsideABoxThatTouchesTheTop) {
  EXPECT_EQ(placed_alone(request({100, 5, 80, 120}))->patch, cv::Rect(100, 5, 60, 16));
}

TEST(LabelPlacement, GoesBesideABoxThatTheLabelWouldHide) {
  const auto placed = placed_alone(request({100, 5, 20, 20}));
  EXPECT_TRUE((placed->patch & cv::Rect(100, 5, 20, 20)).empty()) << placed->patch;
}

TEST(LabelPlacement, MovesALabelAlongTheEdgeOfTheImage) {
  EXPECT_EQ(placed_alone(request({620, 100, 80, 120}))->patch, cv::Rect(580, 84, 60, 16));
  EXPECT_EQ(placed_alone(request({-50, 100, 60, 120}))->patch, cv::Rect(0, 84, 60, 16));
}

TEST(LabelPlacement, SeparatesTheLabelsOfNeighbours) {
  std::vector<LabelRequest> requests;
  for (int i = 0; i < 6; ++i) requests.push_back(request({100 + 12 * i, 200, 40, 100}));
  const auto placed = place_labels(requests, kImage);
  expect_readable(placed, requests, kImage);
  EXPECT_EQ(count_placed(placed), requests.size());
}

TEST(LabelPlacement, PrefersAPlaceWhereItCoversNoOtherBox) {
  // A large box covers the place above; that below is free.
  const std::vector<LabelRequest> requests{request({100, 100, 80, 60}), request({60, 30, 200, 69})};
  const auto placed = place_labels(requests, kImage);
  EXPECT_TRUE((placed[0]->patch & requests[1].box).empty()) << placed[0]->patch;
}

TEST(LabelPlacement, PutsALabelAwayWithALineIfEveryPlaceAtItsBoxIsTaken) {
  const std::vector<LabelRequest> requests(24, request({300, 220, 20, 20}));
  const auto placed = place_labels(requests, kImage);
  expect_readable(placed, requests, kImage);
  EXPECT_EQ(count_placed(placed), requests.size());
  const auto away =
      std::ranges::find_if(placed, [](const auto& one) { return one->leader.has_value(); });
  ASSERT_NE(away, placed.end());
  EXPECT_TRUE(requests[0].box.contains(*(*away)->leader));
  EXPECT_TRUE(((*away)->patch & requests[0].box).empty());
}

TEST(LabelPlacement, TakesAShorterTextBeforeItLeavesALabelOut) {
  // The image has room for one long label only.
  const std::vector<LabelRequest> requests(2,
                                           {.box = {0, 0, 100, 40}, .sizes = {{90, 30}, {40, 7}}});
  const auto placed = place_labels(requests, {100, 40});
  expect_readable(placed, requests, {100, 40});
  EXPECT_EQ(placed[0]->text, 0u);
  ASSERT_TRUE(placed[1]);
  EXPECT_EQ(placed[1]->text, 1u);
}

TEST(LabelPlacement, LeavesOutALabelWithoutAnyRoom) {
  const std::vector<LabelRequest> requests(2, request({0, 0, 60, 20}, {60, 20}));
  const auto placed = place_labels(requests, {60, 20});
  EXPECT_TRUE(placed[0]);
  EXPECT_FALSE(placed[1]);
}

TEST(LabelPlacement, StaysWhereItWasIfThatPlaceIsFree) {
  LabelRequest one = request({100, 100, 80, 120});
  for (const int place : {1, 4, 8}) {
    one.place = place;
    EXPECT_EQ(placed_alone(one)->place, place);
  }
  one.place = 1000;  // of no use
  EXPECT_EQ(placed_alone(one)->place, 0);
}

TEST(LabelPlacement, DependsOnNothingButItsRequests) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> x(-50, 640), y(-50, 480), side(1, 200);
  std::vector<LabelRequest> requests;
  for (int i = 0; i < 100; ++i)
    requests.push_back(request({x(random), y(random), side(random), side(random)}));
  std::erase_if(requests,
                [](const LabelRequest& one) { return (one.box & cv::Rect({}, kImage)).empty(); });
  EXPECT_EQ(place_labels(requests, kImage), place_labels(requests, kImage));
}

/// Boxes of people in a crowd: a third of the picture's pixels are within boxes.
std::vector<LabelRequest> crowd(int people, unsigned seed, cv::Size image) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> x(0, image.width - 30), y(20, image.height - 80),
      width(20, 40), height(50, 100);
  std::vector<LabelRequest> requests;
  for (int i = 0; i < people; ++i)
    requests.push_back({.box = {x(random), y(random), width(random), height(random)},
                        .sizes = {{130, 15}, {70, 15}}});
  return requests;
}

TEST(LabelPlacement, GivesEveryPersonOfACrowdAReadableLabel) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto requests = crowd(40, seed, {768, 576});
    const auto placed = place_labels(requests, {768, 576});
    expect_readable(placed, requests, {768, 576});
    EXPECT_EQ(count_placed(placed), 40u) << "seed " << seed;
  }
}

TEST(LabelPlacement, NeverLetsLabelsCoverEachOther) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const cv::Size image(20 + static_cast<int>(random() % 700),
                         20 + static_cast<int>(random() % 500));
    std::vector<LabelRequest> requests;
    for (unsigned i = 0; i < random() % 80; ++i) {
      LabelRequest one{.box = {static_cast<int>(random() % 900) - 100,
                               static_cast<int>(random() % 700) - 100,
                               1 + static_cast<int>(random() % (i % 9 == 0 ? 2'000'000 : 150)),
                               1 + static_cast<int>(random() % 200)}};
      if ((one.box & cv::Rect({}, image)).empty()) continue;
      for (unsigned text = 0; text <= random() % 3; ++text)
        one.sizes.push_back(
            {1 + static_cast<int>(random() % static_cast<unsigned>(image.width)),
             1 + static_cast<int>(random() % static_cast<unsigned>(std::min(60, image.height)))});
      if (random() % 4 == 0) one.place = static_cast<int>(random() % 40) - 2;
      requests.push_back(one);
    }
    expect_readable(place_labels(requests, image), requests, image);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(LabelPlacement, PlacesAThousandLabelsInAFractionOfASecond) {
  const auto requests = crowd(1000, 3, {768, 576});
  const auto begin = std::chrono::steady_clock::now();
  const auto placed = place_labels(requests, {768, 576});
  const auto took = std::chrono::steady_clock::now() - begin;
  expect_readable(placed, requests, {768, 576});
  EXPECT_GT(count_placed(placed), 60u);
  // It takes some 20 ms; the bound leaves room for sanitizers and a busy machine.
  EXPECT_LT(took, std::chrono::seconds(1));
}

}  // namespace
}  // namespace vcap
