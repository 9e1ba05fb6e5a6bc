// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/keypoint_annotator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "image/drawing.hpp"
#include "image/text_patch.hpp"

namespace vcap {
namespace {

const cv::Scalar kLeftColor(0, 140, 255);   // orange
const cv::Scalar kRightColor(255, 160, 0);  // blue

enum class BodySide { none, left, right };

BodySide side_of(std::string_view name) {
  if (name.starts_with("left_") || name.ends_with("_left")) return BodySide::left;
  if (name.starts_with("right_") || name.ends_with("_right")) return BodySide::right;
  return BodySide::none;
}

cv::Scalar color_of_side(BodySide side, const cv::Scalar& other) {
  return side == BodySide::left ? kLeftColor : side == BodySide::right ? kRightColor : other;
}

/// The keypoints of a node that are drawn; of equal names, the first.
std::map<std::string_view, cv::Point> shown_keypoints(const DetectionNode& node,
                                                      double min_confidence) {
  std::map<std::string_view, cv::Point> points;
  for (const Keypoint& keypoint : node.keypoints) {
    if (!std::isfinite(keypoint.point.x) || !std::isfinite(keypoint.point.y)) continue;
    if (keypoint.confidence && !(*keypoint.confidence >= min_confidence)) continue;
    points.emplace(keypoint.name, pixel(keypoint.point));
  }
  return points;
}

/// The thickness of bones: thinner for small skeletons, whose joints would cover each other.
int bone_width(const std::map<std::string_view, cv::Point>& points, int widest) {
  std::vector<cv::Point> all;
  all.reserve(points.size());
  for (const auto& [name, point] : points) all.push_back(point);
  const cv::Rect extent = cv::boundingRect(all);
  return std::clamp(std::max(extent.width, extent.height) / 60, 1, widest);
}

void write_keypoint_name(cv::Mat& image, cv::Point at, std::string_view name,
                         const cv::Scalar& color, const TextStyle& text) {
  const std::vector<std::string> lines{shown_text(std::string(name))};
  const cv::Rect patch(at, text.size(lines));
  if ((patch & cv::Rect({}, image.size())) == patch) text.draw(image, patch, lines, color);
}

}  // namespace

std::vector<Bone> pose_skeleton() {
  std::vector<Bone> bones{{"left_shoulder", "right_shoulder"}, {"left_hip", "right_hip"}};
  for (const std::string side : {"left_", "right_"}) {
    bones.push_back({"nose", side + "eye"});
    for (const auto& [from, to] : {std::pair{"eye", "ear"},
                                   {"shoulder", "elbow"},
                                   {"elbow", "wrist"},
                                   {"wrist", "thumb"},
                                   {"wrist", "index"},
                                   {"wrist", "pinky"},
                                   {"index", "pinky"},
                                   {"shoulder", "hip"},
                                   {"hip", "knee"},
                                   {"knee", "ankle"},
                                   {"ankle", "heel"},
                                   {"ankle", "foot_index"},
                                   {"heel", "foot_index"}})
      bones.push_back({side + from, side + to});
  }
  return bones;
}

KeypointAnnotator::KeypointAnnotator(KeypointSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "KeypointAnnotator");
  check_setting(settings_.min_confidence, 0, 1, "KeypointAnnotator", "the minimum confidence");
}

KeypointAnnotator::~KeypointAnnotator() = default;

void KeypointAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  const double scale = scale_for(settings_.style, image.size());
  const TextStyle text(0.7 * scale);
  visit_all(nodes, settings_.style, [&](const DetectionNode& node) {
    const cv::Scalar color = color_of(node, settings_.style.color_by);
    const auto points = shown_keypoints(node, settings_.min_confidence);
    if (points.empty()) return;
    const int width = bone_width(points, line_width(scale));
    for (const Bone& bone : settings_.skeleton) {
      const auto from = points.find(bone.from), to = points.find(bone.to);
      if (from == points.end() || to == points.end()) continue;
      const BodySide side =
          side_of(bone.from) == side_of(bone.to) ? side_of(bone.from) : BodySide::none;
      cv::line(image, from->second, to->second, color_of_side(side, color), width, cv::LINE_AA);
    }
    for (const auto& [name, point] : points)
      cv::circle(image, point, width, color_of_side(side_of(name), color), cv::FILLED, cv::LINE_AA);
    if (!settings_.names) return;
    for (const auto& [name, point] : points)
      write_keypoint_name(image, point + cv::Point(width + 2, 0), name,
                          color_of_side(side_of(name), color), text);
  });
}

}  // namespace vcap
