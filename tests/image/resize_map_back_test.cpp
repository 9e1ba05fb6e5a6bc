// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "vcap/image/resize.hpp"

namespace vcap {
namespace {

using Sides = Resize::Sides;

DetectionNode thing(Coords coords) { return {.name = "thing", .coords = std::move(coords)}; }

cv::Mat blank(int width, int height) { return {height, width, CV_8UC1, cv::Scalar(0)}; }

/// A chain of random operations, and a simple model of it. The model maps a point of the frame step
/// by step, with only sizes and offsets, in long double.
class RandomChain {
 public:
  explicit RandomChain(unsigned seed) : engine_(seed), resize_(blank(side(), side())) {
    const int length = draw(1, 8);
    for (int i = 0; i < length; ++i) step();
  }

  const Resize& resize() const { return resize_; }

  cv::Point2d forward(cv::Point2d point) const {
    long double x = point.x, y = point.y;
    for (const Step& step : steps_) {
      x = x * step.to.width / step.from.width + step.dx;
      y = y * step.to.height / step.from.height + step.dy;
    }
    return {static_cast<double>(x), static_cast<double>(y)};
  }

 private:
  /// A scaling from size to size, then a move.
  struct Step {
    cv::Size from{1, 1}, to{1, 1};
    int dx = 0, dy = 0;
  };

  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  int side() { return draw(20, 120); }

  void step() {
    const cv::Size size(side(), side()), from = resize_.image().size();
    const auto sides = static_cast<Sides>(draw(0, 2));
    switch (draw(0, 8)) {
      case 0:
        return scaled(from, resize_.fit_width(size.width));
      case 1:
        return scaled(from, resize_.fit_height(size.height));
      case 2:
        return scaled(from, resize_.fit_both(size));
      case 3:
        return scaled(from, resize_.fit_one(size));
      case 4:
        return scaled(from, resize_.fit_exact(size));
      case 5:
        resize_.crop(size, sides);
        return moved(-taken(from.width - size.width, sides),
                     -taken(from.height - size.height, sides));
      case 6: {
        const cv::Point point(draw(-5, from.width - 1), draw(-5, from.height - 1));
        resize_.crop(size, point);
        return moved(-std::max(point.x, 0), -std::max(point.y, 0));
      }
      case 7:
        resize_.pad(size, sides);
        return moved(taken(size.width - from.width, sides),
                     taken(size.height - from.height, sides));
      default: {
        const cv::Point point(draw(0, 9), draw(0, 9));
        resize_.pad({from.width + 10, from.height + 10}, point);
        return moved(point.x, point.y);
      }
    }
  }

  /// The part of a difference in size at the left or top; 0 if the difference is not positive.
  static int taken(int difference, Sides sides) {
    if (difference <= 0 || sides == Sides::right_bottom) return 0;
    return sides == Sides::left_top ? difference : difference / 2;
  }

  void scaled(cv::Size from, const Resize& resize) {
    steps_.push_back({.from = from, .to = resize.image().size()});
  }
  void moved(int dx, int dy) { steps_.push_back({.dx = dx, .dy = dy}); }

  std::mt19937 engine_;
  Resize resize_;
  std::vector<Step> steps_;
};

TEST(ResizeMapBack, MapsPointsOfAnyChainBack) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> position(-50, 200);
  for (unsigned seed = 0; seed < 400; ++seed) {
    const RandomChain chain(seed);
    for (int i = 0; i < 10; ++i) {
      const cv::Point2d point(position(engine), position(engine));
      const cv::Point2d there = chain.forward(point);
      ASSERT_LT(cv::norm(chain.resize().to_frame(there) - point), 1e-9) << "chain " << seed;
      ASSERT_LT(cv::norm(chain.resize().from_frame(point) - there), 1e-9) << "chain " << seed;
      const DetectionNodes back =
          chain.resize().map_back(DetectionNodes::single(thing({there, chain.forward({0, 0})})));
      ASSERT_LT(cv::norm(back.node().coords[0] - point), 1e-9) << "chain " << seed;
      ASSERT_LT(cv::norm(back.node().coords[1]), 1e-9) << "chain " << seed;
    }
  }
}

TEST(ResizeMapBack, RoundsOnceAtTheEndToTheOriginalWholePixel) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    const RandomChain chain(seed);
    for (const cv::Point2d point : {cv::Point2d(0, 0), cv::Point2d(17, 3), cv::Point2d(-4, 119)}) {
      const DetectionNodes found = DetectionNodes::single(thing({chain.forward(point)}));
      EXPECT_EQ(chain.resize().map_back(found, Resize::Rounding::nearest).node().coords,
                Coords{point});
    }
  }
}

TEST(ResizeMapBack, DoesNotRoundByDefault) {
  Resize resize(blank(200, 100));
  resize.fit_width(150);
  const DetectionNodes found = DetectionNodes::single(thing({{100, 75}}));
  EXPECT_DOUBLE_EQ(resize.map_back(found).node().coords[0].x, 400.0 / 3);
  EXPECT_EQ(resize.map_back(found, Resize::Rounding::nearest).node().coords, (Coords{{133, 100}}));
}

TEST(ResizeMapBack, UsesTheScaleOfTheWholePixelSizes) {
  Resize resize(blank(300, 200));
  resize.fit_width(100);  // 66.67 rows become 67
  const DetectionNodes found = DetectionNodes::single(thing({{100, 67}}));
  EXPECT_EQ(resize.map_back(found).node().coords, (Coords{{300, 200}}));
}

TEST(ResizeMapBack, MapsTheBoxOfALetterboxBackToTheFrame) {
  Resize resize(blank(768, 576));
  resize.fit_both({416, 416}).pad({416, 416}, Sides::all);
  ASSERT_EQ(resize.image().size(), cv::Size(416, 416));
  const DetectionNodes found =
      DetectionNodes::single(thing(rect_to_coords(BoundingBox{0, 52, 416, 364})));
  EXPECT_EQ(resize.map_back(found, Resize::Rounding::nearest).node().bbox(),
            (BoundingBox{0, 0, 768, 576}));
}

TEST(ResizeMapBack, MapsPointsOnThePaddingOutsideTheFrame) {
  Resize resize(blank(20, 10));
  resize.pad({20, 20}, Sides::left_top);
  EXPECT_EQ(resize.map_back(DetectionNodes::single(thing({{5, 3}}))).node().coords,
            (Coords{{5, -7}}));
}

TEST(ResizeMapBack, MapsChildrenTooAndKeepsTheKindAndAllElse) {
  Resize resize(blank(20, 10));
  resize.fit_exact({40, 40});
  DetectionNode parent = thing({{40, 40}}), expected = thing({{20, 10}});
  parent.attributes = expected.attributes = {{"upper_color", "red"}};
  parent.children = {thing({{20, 20}})};
  expected.children = {thing({{10, 5}})};
  EXPECT_EQ(resize.map_back(DetectionNodes::all({parent, parent})),
            DetectionNodes::all({expected, expected}));
  EXPECT_EQ(resize.map_back(DetectionNodes::none()), DetectionNodes::none());
}

}  // namespace
}  // namespace vcap
