// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/non_max_suppression.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "vcap/algorithms/iou.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Indices = std::vector<std::size_t>;

/// The definition: repeatedly takes the best remaining box and drops the boxes that overlap it.
Indices naive(std::span<const BoundingBox> boxes, std::span<const double> scores, double limit) {
  Indices left(boxes.size()), kept;
  std::iota(left.begin(), left.end(), std::size_t{0});
  while (!left.empty()) {
    const std::size_t best = *std::ranges::max_element(left, [&](std::size_t a, std::size_t b) {
      return scores[a] < scores[b] || (scores[a] == scores[b] && a > b);
    });
    kept.push_back(best);
    std::erase_if(left,
                  [&](std::size_t i) { return i == best || iou(boxes[best], boxes[i]) > limit; });
  }
  return kept;
}

DetectionNode node(std::string name, const BoundingBox& box, nlohmann::json extra_data) {
  return {
      .name = std::move(name), .coords = rect_to_coords(box), .extra_data = std::move(extra_data)};
}

template <class Call>
std::string message_of(ErrorCode code, Call call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

const std::vector<BoundingBox> kThree = {{0, 0, 10, 10}, {0, 0, 10, 9}, {20, 0, 30, 10}};

TEST(NonMaxSuppression, KeepsTheBestOfEachClusterByFallingScore) {
  EXPECT_THAT(non_max_suppression(kThree, std::vector{0.5, 0.6, 0.9}, 0.5), ElementsAre(2, 1));
  EXPECT_THAT(non_max_suppression(kThree, std::vector{0.7, 0.6, 0.1}, 0.5), ElementsAre(0, 2));
}

TEST(NonMaxSuppression, TakesTheEarlierOfEqualScores) {
  EXPECT_THAT(non_max_suppression(kThree, std::vector{0.5, 0.5, 0.5}, 0.5), ElementsAre(0, 2));
}

TEST(NonMaxSuppression, DropsABoxOnlyAboveTheAllowedOverlap) {
  const std::vector<BoundingBox> boxes = {{0, 0, 10, 10}, {0, 0, 5, 10}};  // IoU 0.5
  EXPECT_THAT(non_max_suppression(boxes, std::vector{1.0, 0.5}, 0.5), ElementsAre(0, 1));
  EXPECT_THAT(non_max_suppression(boxes, std::vector{1.0, 0.5}, 0.499), ElementsAre(0));
}

TEST(NonMaxSuppression, KeepsABoxWhoseOverlappingNeighbourWasItselfDropped) {
  const std::vector<BoundingBox> chain = {{0, 0, 10, 10}, {4, 0, 14, 10}, {8, 0, 18, 10}};
  EXPECT_THAT(non_max_suppression(chain, std::vector{0.9, 0.8, 0.7}, 0.3), ElementsAre(0, 2));
}

TEST(NonMaxSuppression, AgreesWithTheDefinitionOnRandomBoxesWithTies) {
  std::mt19937 engine(11);
  std::uniform_real_distribution<double> position(0, 60), side(-1, 50);
  std::uniform_int_distribution<int> score(0, 20), raster(0, 1);
  std::size_t dropped = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<BoundingBox> boxes;
    std::vector<double> scores;
    for (int i = 0; i < 80; ++i) {
      BoundingBox box{position(engine), position(engine), 0, 0};
      box.x2 = box.x1 + side(engine);
      box.y2 = box.y1 + side(engine);
      // With whole pixels, some boxes touch, some are equal, and some have no area.
      if (round % 2 == 0)
        box = {std::floor(box.x1), std::floor(box.y1), std::floor(box.x2), std::floor(box.y2)};
      boxes.push_back(box);
      scores.push_back(score(engine) / 10.0 - 1);
    }
    for (const double limit : {0.0, 0.05, 0.3, 0.5, 0.9, 1.0}) {
      const Indices kept = non_max_suppression(boxes, scores, limit);
      EXPECT_EQ(kept, naive(boxes, scores, limit)) << "round " << round << ", limit " << limit;
      dropped += boxes.size() - kept.size();
    }
  }
  EXPECT_GT(dropped, 1000u);
}

TEST(NonMaxSuppression, KeepsEverythingAtAnOverlapOfOne) {
  const std::vector<BoundingBox> same(5, BoundingBox{1, 1, 9, 9});
  EXPECT_THAT(non_max_suppression(same, std::vector{1.0, 2.0, 3.0, 4.0, 5.0}, 1),
              ElementsAre(4, 3, 2, 1, 0));
}

TEST(NonMaxSuppression, KeepsBoxesWithoutAreaOrWithNan) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<BoundingBox> boxes = {
      {0, 0, 10, 10}, {5, 5, 5, 5}, {nan, 0, 10, 10}, {0, 0, 10, 10}, {9, 9, 1, 1}};
  EXPECT_THAT(non_max_suppression(boxes, std::vector{5.0, 4.0, 3.0, 2.0, 1.0}, 0),
              ElementsAre(0, 1, 2, 4));
}

TEST(NonMaxSuppression, HandlesTensOfThousandsOfBoxesSideBySide) {
  std::vector<BoundingBox> boxes;
  for (int row = 0; row < 150; ++row)
    for (int column = 0; column < 150; ++column) {
      const double x = column * 10, y = row * 10;
      boxes.push_back({x, y, x + 10, y + 10});
      boxes.push_back({x, y, x + 10, y + 9});
    }
  std::vector<double> scores(boxes.size());
  std::iota(scores.rbegin(), scores.rend(), 0.0);
  const Indices kept = non_max_suppression(boxes, scores, 0.5);
  ASSERT_EQ(kept.size(), boxes.size() / 2);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i], 2 * i);
}

TEST(NonMaxSuppression, LetsOnlyBoxesOfOneLabelSuppressEachOther) {
  const std::vector<BoundingBox> same(4, BoundingBox{0, 0, 10, 10});
  EXPECT_THAT(non_max_suppression(same, std::vector{0.6, 0.9, 0.8, 0.7},
                                  std::vector<std::size_t>{5, 5, 0, 5}, 0.5),
              ElementsAre(1, 2));
}

TEST(NonMaxSuppression, AgreesWithTheDefinitionLabelByLabel) {
  std::mt19937 engine(12);
  std::uniform_real_distribution<double> position(0, 60), side(-1, 50);
  std::uniform_int_distribution<int> score(0, 20);
  std::uniform_int_distribution<std::size_t> any_label(0, 5);
  for (int round = 0; round < 30; ++round) {
    std::vector<BoundingBox> boxes;
    std::vector<double> scores;
    std::vector<std::size_t> labels;
    for (int i = 0; i < 120; ++i) {
      const double x = position(engine), y = position(engine);
      boxes.push_back({x, y, x + side(engine), y + side(engine)});
      scores.push_back(score(engine) / 10.0);
      labels.push_back(any_label(engine) * 1000);
    }
    Indices expected;
    for (std::size_t label = 0; label <= 5000; label += 1000) {
      Indices members;
      std::vector<BoundingBox> its_boxes;
      std::vector<double> its_scores;
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (labels[i] != label) continue;
        members.push_back(i);
        its_boxes.push_back(boxes[i]);
        its_scores.push_back(scores[i]);
      }
      for (const std::size_t i : naive(its_boxes, its_scores, 0.3)) expected.push_back(members[i]);
    }
    std::ranges::sort(expected, [&](std::size_t a, std::size_t b) {
      return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
    });
    EXPECT_EQ(non_max_suppression(boxes, scores, labels, 0.3), expected) << "round " << round;
  }
}

TEST(NonMaxSuppression, HandlesTensOfThousandsOfLabelsInOnePlace) {
  const std::size_t count = 60'000;
  const std::vector<BoundingBox> boxes(count, BoundingBox{0, 0, 10, 10});
  const std::vector<double> scores(count, 0.5);
  std::vector<std::size_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = i % (count / 2);
  EXPECT_EQ(non_max_suppression(boxes, scores, labels, 0.5).size(), count / 2);
}

TEST(NonMaxSuppression, RefusesAWrongNumberOfLabels) {
  EXPECT_THAT(message_of(ErrorCode::invalid_argument,
                         [] {
                           non_max_suppression(kThree, std::vector{0.5, 0.5, 0.5},
                                               std::vector<std::size_t>{1, 2}, 0.5);
                         }),
              HasSubstr("2 labels for 3 boxes"));
}

TEST(NonMaxSuppression, GivesNothingForNoBoxes) {
  EXPECT_THAT(non_max_suppression(std::vector<BoundingBox>{}, {}, 0.5), IsEmpty());
  EXPECT_EQ(non_max_suppression(DetectionNodes::all(), 0.5), DetectionNodes::all());
}

TEST(NonMaxSuppression, ReadsTheScoresOfNodesAndKeepsTheirFields) {
  const DetectionNode weak = node("a", kThree[0], {{"confidence", 0.4}});
  DetectionNode strong = node("b", kThree[1], {{"detection_confidence", 0.8}, {"confidence", 0.1}});
  strong.attributes["upper_color"] = "red";
  const DetectionNode apart = node("c", kThree[2], {{"confidence", 0.9}});
  EXPECT_EQ(non_max_suppression(DetectionNodes::all({weak, strong, apart}), 0.5),
            DetectionNodes::all({apart, strong}));
}

TEST(NonMaxSuppression, PrefersGivenScoresToThoseOfNodes) {
  const DetectionNode first = node("a", kThree[0], {{"confidence", 0.9}});
  const DetectionNode second = node("b", kThree[1], {});
  EXPECT_EQ(non_max_suppression(DetectionNodes::all({first, second}), std::vector{0.1, 0.2}, 0.5),
            DetectionNodes::all({second}));
}

TEST(NonMaxSuppression, ReturnsNoneAndASingleNodeUnchanged) {
  EXPECT_EQ(non_max_suppression(DetectionNodes::none(), 0.5), DetectionNodes::none());
  const DetectionNodes single = DetectionNodes::single(node("a", kThree[0], {}));
  EXPECT_EQ(non_max_suppression(single, 0.5), single);
  EXPECT_EQ(non_max_suppression(single, std::vector{0.3}, 0.5), single);
}

TEST(NonMaxSuppression, NamesTheNodeThatHasNoScore) {
  const DetectionNodes nodes = DetectionNodes::all(
      {node("person", kThree[0], {{"confidence", 0.9}}), node("car", kThree[1], {})});
  EXPECT_THAT(
      message_of(ErrorCode::invalid_node, [&] { non_max_suppression(nodes, 0.5); }),
      HasSubstr("node 1 (\"car\") has neither \"detection_confidence\" nor \"confidence\""));
}

TEST(NonMaxSuppression, RefusesAWrongNumberOfScores) {
  const auto call = [] { non_max_suppression(kThree, std::vector{0.5, 0.6}, 0.5); };
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, call), HasSubstr("2 scores for 3 boxes"));
}

TEST(NonMaxSuppression, RefusesAScoreThatIsNotANumber) {
  const std::vector scores = {0.5, std::numeric_limits<double>::quiet_NaN(), 0.6};
  const auto call = [&] { non_max_suppression(kThree, scores, 0.5); };
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, call), HasSubstr("score 1 is NaN"));
}

TEST(NonMaxSuppression, RefusesAnOverlapOutsideZeroToOne) {
  for (const double limit : {-0.1, 1.7, std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector scores = {0.5, 0.6, 0.7};
    EXPECT_THAT(message_of(ErrorCode::invalid_argument,
                           [&] { non_max_suppression(kThree, scores, limit); }),
                HasSubstr("is not within 0 to 1"));
    EXPECT_THROW(non_max_suppression(DetectionNodes::none(), limit), InvalidArgument);
  }
}

}  // namespace
}  // namespace vcap
