// SPDX-License-Identifier: Apache-2.0
// Random nodes, pictures and images: nothing crashes, hangs, or writes outside the image.
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "image/annotator_canvas.hpp"
#include "vcap/image/image.hpp"

namespace vcap {
namespace {

/// Makes all that annotators may be given.
class RandomScene {
 public:
  explicit RandomScene(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_() % limit; }

  double coordinate() {
    switch (below(40)) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return std::numeric_limits<double>::infinity();
      case 2:
        return -std::numeric_limits<double>::max();
      case 3:
        return std::numeric_limits<double>::max();
      case 4:
        return 1e7 * (double(below(2001)) - 1000);
      default:
        return double(below(4000)) / 10 - 100;
    }
  }

  Coords coords() {
    if (below(3) != 0) {
      const double x = coordinate(), y = coordinate();
      return rect_to_coords(BoundingBox{x, y, x + double(below(120)), y + double(below(120))});
    }
    Coords points(below(8));
    for (cv::Point2d& point : points) point = {coordinate(), coordinate()};
    return points;
  }

  std::string text() {
    static const std::vector<std::string> texts{"person",
                                                "car",
                                                "",
                                                "caf\u00E9 \u4EBA",
                                                "<b>%s%n</b>",
                                                "\xFF\xFE\n\t\x1b[2J",
                                                std::string(3000, 'W'),
                                                "left_knee",
                                                "line"};
    return texts[below(texts.size())];
  }

  DetectionNode node(int depth = 0) {
    DetectionNode made{.name = text(), .coords = coords()};
    if (below(2) == 0) made.track_id = test::track(static_cast<int>(below(300)));
    for (std::size_t i = below(3); i > 0; --i) made.attributes[text()] = text();
    for (std::size_t i = below(4); i > 0; --i)
      made.keypoints.push_back({.name = below(2) == 0 ? "left_hip" : text(),
                                .point = {coordinate(), coordinate()},
                                .confidence = coordinate()});
    if (below(4) == 0)
      made.extra_data = {{"in", below(10)}, {"line", text()}, {"confidence", coordinate()}};
    if (below(9) == 0) made.extra_data = nlohmann::json::array({1, 2});
    if (depth < 3)
      for (std::size_t i = below(3); i > 1; --i) made.children.push_back(node(depth + 1));
    return made;
  }

  std::vector<DetectionNode> nodes() {
    std::vector<DetectionNode> made(below(12));
    for (DetectionNode& one : made) one = node();
    return made;
  }

  Frame frame() {
    Frame made{.index = static_cast<std::int64_t>(random_()),
               .pts = std::chrono::milliseconds(below(20'000))};
    if (below(10) == 0) made.discontinuity = static_cast<Discontinuity>(below(6));
    if (below(2) == 0) {
      cv::Mat mask(1 + static_cast<int>(below(50)), 1 + static_cast<int>(below(50)),
                   below(2) == 0 ? CV_8UC1 : CV_16UC1);
      cv::RNG(random_()).fill(mask, cv::RNG::UNIFORM, 0, 70'000);
      made.pictures.set("mask", mask);
    }
    return made;
  }

  double scale() {
    switch (below(4)) {
      case 0:
        return 0.001;
      case 1:
        return 100;
      default:
        return 0;
    }
  }

 private:
  std::mt19937 random_;
};

/// All parts, in all forms.
std::unique_ptr<Annotators> all_parts(double scale) {
  const AnnotatorStyle style{.scale = scale};
  auto parts = make_annotators(
      "blur:person,pixelate:car,masks,polygons,boxes,rounded-boxes,corners,"
      "heat-map,trails,keypoints,label-map:mask,counters,labels",
      style);
  parts->add<KeypointAnnotator>(KeypointSettings{.names = true, .style = style});
  parts->add<ZoneAnnotator>(
      ZoneSettings{.zones = {{.name = "\xFF", .outline = {{-1e300, 5}, {50, 1e300}, {30, 30}}}},
                   .lines = {{.name = "\xFE", .from = {-1e300, 5}, .to = {1e300, 60}},
                             {.name = "path", .from = {20, 20}, .to = {25, 10}}},
                   .style = style});
  parts->add<ZoneAnnotator>(
      ZoneSettings{.zones = {{.name = "share", .outline = {{-1e308, 0}, {1, 1e308}, {0.5, 0}}}},
                   .lines = {{.name = "share", .from = {0, 1e-3}, .to = {1e308, -1e308}}},
                   .relative = true,
                   .style = style});
  return parts;
}

TEST(AnnotatorFuzz, NeverWritesOutsideTheImage) {
  constexpr int margin = 20;
  RandomScene scene(2026);
  for (int stream = 0; stream < 40; ++stream) {
    const auto parts = all_parts(scene.scale());
    for (int i = 0; i < 15; ++i) {
      const cv::Size size(1 + static_cast<int>(scene.below(300)),
                          1 + static_cast<int>(scene.below(200)));
      // The image is a part of a larger one, so that writing beside it shows.
      cv::Mat around(size.height + 2 * margin, size.width + 2 * margin, CV_8UC3,
                     cv::Scalar(1, 2, 3));
      cv::Mat image = around(cv::Rect(margin, margin, size.width, size.height));
      const unsigned char* const data = image.data;
      const std::vector<DetectionNode> nodes = scene.nodes();
      const Frame frame = scene.frame();
      parts->annotate(image, nodes, frame);
      ASSERT_EQ(image.data, data) << "the image was replaced";
      image.setTo(cv::Scalar(1, 2, 3));
      ASSERT_EQ(cv::countNonZero(test::drawn_mask(around, cv::Scalar(1, 2, 3))), 0)
          << "stream " << stream << ", frame " << i;
    }
  }
}

TEST(AnnotatorFuzz, GivesTheSameImageAgain) {
  for (unsigned seed = 0; seed < 15; ++seed) {
    cv::Mat images[2];
    for (cv::Mat& image : images) {
      RandomScene scene(seed);
      const auto parts = all_parts(0);
      for (int i = 0; i < 5; ++i) {
        image = test::canvas();
        parts->annotate(image, scene.nodes(), scene.frame());
      }
    }
    ASSERT_TRUE(test::equal_images(images[0], images[1])) << seed;
  }
}

TEST(AnnotatorFuzz, TakesAThousandNodesInBoundedTime) {
  RandomScene scene(5);
  std::vector<DetectionNode> nodes(1000);
  for (DetectionNode& node : nodes) node = scene.node();
  const auto parts = all_parts(0);
  cv::Mat image = test::canvas({768, 576});
  const auto begin = std::chrono::steady_clock::now();
  parts->annotate(image, nodes, scene.frame());
  // It takes a second; the bound leaves room for sanitizers and a busy machine.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace vcap
