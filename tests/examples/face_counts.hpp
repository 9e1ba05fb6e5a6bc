// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/networks.hpp"
#include "vcap/algorithms/iou.hpp"

namespace examples {

/// Counts of a detector's faces on labelled pictures.
struct FaceCounts {
  int labelled = 0;
  int correct = 0;  ///< at an IoU of 0.5
  int wrong = 0;    ///< not correct, and less than half of its area is on one ignored face
};

inline FaceCounts count_faces(const vcap::DetectionNodes& found, const nlohmann::json& labels) {
  FaceCounts counts;
  std::vector<vcap::BoundingBox> faces, ignored;
  for (const nlohmann::json& label : labels) {
    const std::vector<double> box = label.at("box");
    (label.at("ignore").get<bool>() ? ignored : faces)
        .push_back({box[0], box[1], box[0] + box[2], box[1] + box[3]});
  }
  counts.labelled = static_cast<int>(faces.size());
  for (const vcap::DetectionNode& node : found) {
    const vcap::BoundingBox box = node.bbox();
    const auto best = std::ranges::max_element(
        faces, {}, [&](const vcap::BoundingBox& face) { return vcap::iou(face, box); });
    if (best != faces.end() && vcap::iou(*best, box) >= 0.5) {
      faces.erase(best);
      ++counts.correct;
    } else if (std::ranges::none_of(ignored, [&](const vcap::BoundingBox& face) {
                 const cv::Rect2d a(cv::Point2d(face.x1, face.y1), face.size());
                 const cv::Rect2d b(cv::Point2d(box.x1, box.y1), box.size());
                 return (a & b).area() >= 0.5 * b.area();
               })) {
      ++counts.wrong;
    }
  }
  return counts;
}

/// The sums over all labelled pictures. Prints a row for each picture, for docs/models.md.
inline FaceCounts count_labelled_faces(const std::string& capsule) {
  FaceCounts sum;
  const auto detector = network(capsule);
  const nlohmann::json all = examples::labels("faces");
  for (const auto& [name, labels] : all.items()) {
    const vcap::DetectionNodes found = detector->process_frame({.image = picture(name)});
    const FaceCounts counts = count_faces(found, labels);
    std::printf("%s | %s | %d | %zu | %d | %d\n", capsule.c_str(), name.c_str(), counts.labelled,
                found.size(), counts.correct, counts.wrong);
    sum.labelled += counts.labelled;
    sum.correct += counts.correct;
    sum.wrong += counts.wrong;
  }
  return sum;
}

}  // namespace examples
