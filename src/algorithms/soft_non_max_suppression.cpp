// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/soft_non_max_suppression.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "algorithms/box_raster.hpp"
#include "algorithms/scored_boxes.hpp"
#include "base/text.hpp"
#include "vcap/algorithms/iou.hpp"

namespace vcap {
namespace {

constexpr const char* kSoftNms = "soft_non_max_suppression";

/// A box of lower score is worse; of equal scores the one of higher index.
struct IsWorse {
  bool operator()(const SoftScore& a, const SoftScore& b) const {
    return std::tie(a.score, b.index) < std::tie(b.score, a.index);
  }
};

void check(std::size_t boxes, std::span<const double> scores, const SoftSuppression& settings) {
  check_share(kSoftNms, "max_overlap", settings.max_overlap);
  if (!(settings.sigma > 0) || !std::isfinite(settings.sigma))
    refuse_argument(kSoftNms,
                    "sigma " + number_text(settings.sigma) + " is not a finite number above 0");
  if (!(settings.min_score >= 0))
    refuse_argument(kSoftNms,
                    "min_score " + number_text(settings.min_score) + " is not 0 or above");
  check_count(kSoftNms, "scores", scores.size(), boxes);
  const auto bad = std::ranges::find_if_not(
      scores, [](double score) { return score >= 0 && std::isfinite(score); });
  if (bad != scores.end())
    refuse_argument(kSoftNms, "score " + std::to_string(std::distance(scores.begin(), bad)) +
                                  " is " + number_text(*bad) +
                                  "; scores must be finite and >= 0, such as probabilities");
}

/// What the score of a box is multiplied by if a better box overlaps it.
double decay_factor(double overlap, const SoftSuppression& settings) {
  if (settings.decay == SoftSuppression::Decay::gaussian)
    return std::exp(-overlap * overlap / settings.sigma);
  return overlap > settings.max_overlap ? 1 - overlap : 1;
}

/// `left` has each box's current score; −1 after it is in the result or dropped.
void suppress(std::span<const BoundingBox> boxes, std::vector<double>& left,
              std::span<const std::size_t> members, const SoftSuppression& settings,
              std::vector<SoftScore>& result) {
  const bool is_linear = settings.decay == SoftSuppression::Decay::linear;
  const double min_iou = is_linear ? settings.max_overlap : 0;
  std::priority_queue<SoftScore, std::vector<SoftScore>, IsWorse> queue;
  BoxRaster waiting(boxes, members);
  for (const std::size_t index : members) {
    if (left[index] < settings.min_score) continue;
    queue.push({index, left[index]});
    if (has_area(boxes[index])) waiting.add(index);
  }
  while (!queue.empty()) {
    const SoftScore best = queue.top();
    queue.pop();
    if (best.score != left[best.index]) continue;  // lowered since then; it is queued again
    left[best.index] = -1;
    result.push_back(best);
    const BoundingBox& box = boxes[best.index];
    if (!has_area(box)) continue;
    waiting.remove(best.index);
    std::vector<std::size_t> dropped;
    waiting.any_near(box, min_iou, [&](std::size_t other) {
      const double score = left[other] * decay_factor(iou(box, boxes[other]), settings);
      if (score == left[other]) return false;
      left[other] = score;
      if (score < settings.min_score)
        dropped.push_back(other);
      else
        queue.push({other, score});
      return false;
    });
    for (const std::size_t index : dropped) {
      left[index] = -1;
      waiting.remove(index);
    }
  }
}

}  // namespace

std::vector<SoftScore> soft_non_max_suppression(std::span<const BoundingBox> boxes,
                                                std::span<const double> scores,
                                                const SoftSuppression& settings) {
  check(boxes.size(), scores, settings);
  std::vector<double> left(scores.begin(), scores.end());
  std::vector<SoftScore> result;
  suppress(boxes, left, by_falling_score(scores), settings, result);
  return result;
}

std::vector<SoftScore> soft_non_max_suppression(std::span<const BoundingBox> boxes,
                                                std::span<const double> scores,
                                                std::span<const std::size_t> labels,
                                                const SoftSuppression& settings) {
  check(boxes.size(), scores, settings);
  check_count(kSoftNms, "labels", labels.size(), boxes.size());
  std::vector<double> left(scores.begin(), scores.end());
  std::vector<SoftScore> result;
  for (const auto& group : grouped_by_label(by_falling_score(scores), labels))
    suppress(boxes, left, group, settings, result);
  std::ranges::sort(result, [](const auto& a, const auto& b) { return IsWorse{}(b, a); });
  return result;
}

}  // namespace vcap
