// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/detection_evaluation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "algorithms/evaluation_parts.hpp"
#include "vcap/algorithms/iou.hpp"

namespace vcap {
namespace {

/// The values that pycocotools computes: the ninth is one rounding below 0.9.
constexpr std::array<double, 10> kCocoIous{
    0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.8999999999999999, 0.95};
constexpr std::size_t kAt50 = 0, kAt75 = 5;
constexpr std::size_t kMostBoxes = 100;
constexpr int kRecalls = 101;

struct AreaRange {
  double least, most;
  bool holds(double area) const { return area >= least && area <= most; }
};
constexpr AreaRange kAnyArea{-std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::infinity()};
/// All, small, medium, large. Objects above 1e5² are in none of them, as COCO defines it.
constexpr std::array<AreaRange, 4> kRanges{
    {{0, 1e10}, {0, 32.0 * 32}, {32.0 * 32, 96.0 * 96}, {96.0 * 96, 1e10}}};

double area_of(const TruthBox& truth) { return truth.area.value_or(truth.box.area()); }
double area_of(const ScoredBox& found) { return found.area.value_or(found.box.area()); }

/// The share of the found box that lies on the crowd.
double crowd_overlap(const BoundingBox& found, const BoundingBox& crowd) {
  const double width = std::min(found.x2, crowd.x2) - std::max(found.x1, crowd.x1);
  const double height = std::min(found.y2, crowd.y2) - std::max(found.y1, crowd.y1);
  return width > 0 && height > 0 ? width * height / found.area() : 0;
}

void check_frames(const char* function, std::span<const DetectionFrame> frames) {
  const auto fail = [&](std::size_t frame, const char* what, double value, const char* remedy) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          std::string(function) + ": frame " + std::to_string(frame) + " has the " +
                              what + " " + number_text(value) + "; " + remedy);
  };
  const auto check_area = [&](std::size_t frame, const std::optional<double>& area) {
    if (area && !(std::isfinite(*area) && *area >= 0))
      fail(frame, "area", *area, "give a finite number from 0");
  };
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (const TruthBox& truth : frames[i].truth) {
      check_box(function, i, truth.box);
      check_area(i, truth.area);
    }
    for (const ScoredBox& found : frames[i].found) {
      check_box(function, i, found.box);
      check_area(i, found.area);
      if (!std::isfinite(found.score)) fail(i, "score", found.score, "give a finite number");
    }
  }
}

enum class Outcome : unsigned char { wrong, right, ignored };

/// Matches the boxes of one frame with its objects, for any IoU and range of areas.
class FrameMatcher {
 public:
  FrameMatcher(const DetectionFrame& frame, std::size_t most) : frame_(frame) {
    order_.resize(frame.found.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, std::ranges::greater{},
                             [&](std::size_t i) { return frame.found[i].score; });
    order_.resize(std::min(order_.size(), most));
    first_overlap_.reserve(order_.size() + 1);
    for (const std::size_t i : order_) {
      first_overlap_.push_back(overlaps_.size());
      for (std::size_t j = 0; j < frame.truth.size(); ++j) {
        const TruthBox& truth = frame.truth[j];
        const double overlap = truth.is_crowd ? crowd_overlap(frame.found[i].box, truth.box)
                                              : iou(frame.found[i].box, truth.box);
        if (overlap > 0) overlaps_.push_back({j, overlap});
      }
    }
    first_overlap_.push_back(overlaps_.size());
  }

  /// How many boxes there are, by falling score.
  std::size_t size() const { return order_.size(); }
  const ScoredBox& found(std::size_t rank) const { return frame_.found[order_[rank]]; }

  /// Sets the range of areas for the next matches. Objects outside the range need not be found.
  /// Gives the number of objects that must be found.
  std::size_t choose(const AreaRange& range) {
    range_ = range;
    is_required_.clear();
    for (const TruthBox& truth : frame_.truth)
      is_required_.push_back(!truth.is_crowd && !truth.is_ignored && range.holds(area_of(truth)));
    return static_cast<std::size_t>(std::ranges::count(is_required_, true));
  }

  /// The result of each box, by falling score.
  void match(double least, std::vector<Outcome>& outcomes) {
    least = std::min(least, 1 - 1e-10);
    is_taken_.assign(frame_.truth.size(), false);
    outcomes.clear();
    for (std::size_t rank = 0; rank < size(); ++rank) {
      // Objects that must be found come first, even if another one overlaps more.
      if (take_best(rank, true, least))
        outcomes.push_back(Outcome::right);
      else if (take_best(rank, false, least) || !range_.holds(area_of(found(rank))))
        outcomes.push_back(Outcome::ignored);
      else
        outcomes.push_back(Outcome::wrong);
    }
  }

 private:
  /// Takes the object that fits best; of objects that fit equally well, the last.
  bool take_best(std::size_t rank, bool required, double least) {
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    std::size_t best = none;
    for (std::size_t i = first_overlap_[rank]; i < first_overlap_[rank + 1]; ++i) {
      const auto& [truth, overlap] = overlaps_[i];
      if (overlap < least || is_required_[truth] != required) continue;
      if (is_taken_[truth] && !frame_.truth[truth].is_crowd) continue;
      least = overlap;
      best = truth;
    }
    if (best == none) return false;
    is_taken_[best] = true;
    return true;
  }

  const DetectionFrame& frame_;
  AreaRange range_ = kAnyArea;
  std::vector<std::size_t> order_;
  std::vector<std::pair<std::size_t, double>> overlaps_;  ///< by rank: an object, and its overlap
  std::vector<std::size_t> first_overlap_;                ///< of each rank, and the end
  std::vector<bool> is_required_;
  std::vector<bool> is_taken_;
};

/// One box of all frames.
struct Judged {
  double score;
  std::size_t rank;  ///< in its frame, by falling score
  std::array<Outcome, kCocoIous.size()> outcomes;
};

/// The boxes of all frames by falling score, in one range of areas.
struct JudgedBoxes {
  std::size_t required = 0;  ///< objects that must be found
  std::vector<Judged> boxes;
};

JudgedBoxes judge(std::vector<FrameMatcher>& frames, const AreaRange& range) {
  JudgedBoxes judged;
  std::vector<Outcome> outcomes;
  for (FrameMatcher& frame : frames) {
    judged.required += frame.choose(range);
    const std::size_t first = judged.boxes.size();
    for (std::size_t rank = 0; rank < frame.size(); ++rank)
      judged.boxes.push_back({frame.found(rank).score, rank, {}});
    for (std::size_t i = 0; i < kCocoIous.size(); ++i) {
      frame.match(kCocoIous[i], outcomes);
      for (std::size_t rank = 0; rank < outcomes.size(); ++rank)
        judged.boxes[first + rank].outcomes[i] = outcomes[rank];
    }
  }
  std::ranges::stable_sort(judged.boxes, std::ranges::greater{}, &Judged::score);
  return judged;
}

/// Precision made monotone, at 101 recalls.
double mean_precision(const JudgedBoxes& judged, std::size_t iou) {
  std::vector<double> precisions, recalls;
  precisions.reserve(judged.boxes.size());
  recalls.reserve(judged.boxes.size());
  double right = 0, all = 0;
  for (const Judged& box : judged.boxes) {
    right += box.outcomes[iou] == Outcome::right ? 1 : 0;
    all += box.outcomes[iou] != Outcome::ignored ? 1 : 0;
    precisions.push_back(all > 0 ? right / all : 0);
    recalls.push_back(right / static_cast<double>(judged.required));
  }
  for (std::size_t i = precisions.size(); i-- > 1;)
    precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  double sum = 0;
  std::size_t at = 0;
  for (int i = 0; i < kRecalls; ++i) {
    const double recall = i == kRecalls - 1 ? 1 : i * 0.01;
    while (at < recalls.size() && recalls[at] < recall) ++at;
    if (at == recalls.size()) break;
    sum += precisions[at];
  }
  return sum / kRecalls;
}

/// The mean over all IoUs, with at most `most` boxes of each frame.
std::optional<double> mean_recall(const JudgedBoxes& judged, std::size_t most) {
  if (judged.required == 0) return std::nullopt;
  double right = 0;
  for (const Judged& box : judged.boxes)
    if (box.rank < most)
      right += static_cast<double>(std::ranges::count(box.outcomes, Outcome::right));
  return right / static_cast<double>(judged.required) / static_cast<double>(kCocoIous.size());
}

std::optional<double> mean_of_ious(const JudgedBoxes& judged) {
  if (judged.required == 0) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < kCocoIous.size(); ++i) sum += mean_precision(judged, i);
  return sum / static_cast<double>(kCocoIous.size());
}

struct Counted {
  double score;
  bool is_right;
};

/// Collects the boxes that count, by falling score. Gives the number of objects that must be found.
std::int64_t count(std::span<const DetectionFrame> frames, double iou,
                   std::vector<Counted>& counted) {
  std::size_t required = 0;
  std::vector<Outcome> outcomes;
  for (const DetectionFrame& one : frames) {
    FrameMatcher frame(one, one.found.size());
    required += frame.choose(kAnyArea);
    frame.match(iou, outcomes);
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank)
      if (outcomes[rank] != Outcome::ignored)
        counted.push_back({frame.found(rank).score, outcomes[rank] == Outcome::right});
  }
  std::ranges::stable_sort(counted, std::ranges::greater{}, &Counted::score);
  return static_cast<std::int64_t>(required);
}

}  // namespace

DetectionScores score_detections(std::span<const DetectionFrame> frames, double iou,
                                 double least_score) {
  check_iou("score_detections", iou);
  check_frames("score_detections", frames);
  std::vector<Counted> counted;
  const std::int64_t required = count(frames, iou, counted);
  DetectionScores scores;
  // A box is matched before those of lower scores, so these do not change its match.
  for (const Counted& box : counted) {
    if (!(box.score >= least_score)) break;
    ++(box.is_right ? scores.true_positives : scores.false_positives);
  }
  scores.misses = required - scores.true_positives;
  scores.precision = ratio(scores.true_positives, scores.true_positives + scores.false_positives);
  scores.recall = ratio(scores.true_positives, required);
  scores.f1 = ratio(2 * scores.true_positives,
                    2 * scores.true_positives + scores.false_positives + scores.misses);
  return scores;
}

std::vector<PrecisionRecallPoint> precision_recall_curve(std::span<const DetectionFrame> frames,
                                                         double iou) {
  check_iou("precision_recall_curve", iou);
  check_frames("precision_recall_curve", frames);
  std::vector<Counted> counted;
  const std::int64_t required = count(frames, iou, counted);
  std::vector<PrecisionRecallPoint> curve;
  if (required == 0) return curve;
  double right = 0;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    right += counted[i].is_right ? 1 : 0;
    if (i + 1 < counted.size() && counted[i + 1].score == counted[i].score) continue;
    curve.push_back({counted[i].score, right / static_cast<double>(i + 1),
                     right / static_cast<double>(required)});
  }
  return curve;
}

AveragePrecision average_precision(std::span<const DetectionFrame> frames) {
  check_frames("average_precision", frames);
  std::vector<FrameMatcher> matchers;
  matchers.reserve(frames.size());
  for (const DetectionFrame& frame : frames) matchers.emplace_back(frame, kMostBoxes);
  AveragePrecision figures;
  const JudgedBoxes all = judge(matchers, kRanges[0]);
  figures.ap = mean_of_ious(all);
  if (all.required > 0) {
    figures.ap_50 = mean_precision(all, kAt50);
    figures.ap_75 = mean_precision(all, kAt75);
  }
  figures.ar_1 = mean_recall(all, 1);
  figures.ar_10 = mean_recall(all, 10);
  figures.ar_100 = mean_recall(all, kMostBoxes);
  using Figure = std::optional<double> AveragePrecision::*;
  constexpr std::array<std::pair<Figure, Figure>, 3> by_area{
      {{&AveragePrecision::ap_small, &AveragePrecision::ar_small},
       {&AveragePrecision::ap_medium, &AveragePrecision::ar_medium},
       {&AveragePrecision::ap_large, &AveragePrecision::ar_large}}};
  for (std::size_t i = 0; i < by_area.size(); ++i) {
    const JudgedBoxes judged = judge(matchers, kRanges[i + 1]);
    figures.*by_area[i].first = mean_of_ious(judged);
    figures.*by_area[i].second = mean_recall(judged, kMostBoxes);
  }
  return figures;
}

AveragePrecision mean_over_classes(std::span<const AveragePrecision> classes) {
  AveragePrecision mean;
  for (const auto figure :
       {&AveragePrecision::ap, &AveragePrecision::ap_50, &AveragePrecision::ap_75,
        &AveragePrecision::ap_small, &AveragePrecision::ap_medium, &AveragePrecision::ap_large,
        &AveragePrecision::ar_1, &AveragePrecision::ar_10, &AveragePrecision::ar_100,
        &AveragePrecision::ar_small, &AveragePrecision::ar_medium, &AveragePrecision::ar_large}) {
    double sum = 0, count = 0;
    for (const AveragePrecision& one : classes) {
      if (!(one.*figure)) continue;
      sum += *(one.*figure);
      ++count;
    }
    if (count > 0) mean.*figure = sum / count;
  }
  return mean;
}

}  // namespace vcap
