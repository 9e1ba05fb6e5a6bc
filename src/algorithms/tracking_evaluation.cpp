// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/tracking_evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "algorithms/evaluation_parts.hpp"
#include "algorithms/sparse_matching.hpp"
#include "vcap/algorithms/iou.hpp"

namespace vcap {
namespace {

constexpr std::size_t kHotaIous = TrackingCounts::kIous;
constexpr std::size_t kNoTrack = std::numeric_limits<std::size_t>::max();
/// A value this little below a limit counts as reaching it.
constexpr double kRounding = std::numeric_limits<double>::epsilon();
constexpr double kDistractorIou = 0.5;
/// As in TrackEval: above the sum of IoUs of a frame with up to 1000 matches, so that the matches
/// of the frame before are kept.
constexpr double kKept = 1000;

double hota_iou(std::size_t i) { return 0.05 * static_cast<double>(i + 1); }

/// Numbers ids by their first occurrence, from 0.
class Numbers {
 public:
  std::size_t of(std::int64_t id) {
    return numbers_.try_emplace(id, numbers_.size()).first->second;
  }

 private:
  std::unordered_map<std::int64_t, std::size_t> numbers_;
};

/// Two boxes of a frame that overlap.
struct Overlap {
  std::size_t truth, found;  ///< places in the frame
  std::size_t tracks;        ///< their pair of tracks
  double iou;
};

/// One frame, without boxes that do not count.
struct FrameTracks {
  std::vector<std::size_t> truth, found;  ///< the track of each box
  std::vector<Overlap> overlaps;          ///< by truth
};

/// Two tracks that overlap in at least one frame.
struct TrackPair {
  std::size_t truth, found;
  double likeness = 0;      ///< for HOTA: how likely they are to be the same object
  std::int64_t at_iou = 0;  ///< frames in which they overlap enough
  /// Frames in which HOTA matches them, by how many of its IoUs they reach.
  std::array<std::int64_t, kHotaIous + 1> matches{};
};

/// Calls `take` for each pair of boxes that overlap, by the place of the true box. To find them,
/// the found boxes are sorted by their left sides.
template <class Take>
void for_each_overlap(const std::vector<BoundingBox>& truth, const std::vector<BoundingBox>& found,
                      Take take) {
  std::vector<std::size_t> order(found.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto left = [&](std::size_t i) { return found[i].x1; };
  std::ranges::stable_sort(order, {}, left);
  double widest = 0;
  for (const BoundingBox& box : found) widest = std::max(widest, box.width());
  // The factor covers the rounding of the difference.
  widest *= 1 + 1e-9;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double first_left = truth[i].x1 - widest - std::abs(truth[i].x1) * 1e-9;
    for (auto at = std::ranges::lower_bound(order, first_left, {}, left);
         at != order.end() && found[*at].x1 < truth[i].x2; ++at)
      if (const double overlap = iou(truth[i], found[*at]); overlap > 0) take(i, *at, overlap);
  }
}

class Sequence {
 public:
  explicit Sequence(std::span<const TrackingFrame> frames) {
    frames_.reserve(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) add(i, frames[i]);
  }

  TrackingCounts count(double least_iou) {
    for (const FrameTracks& frame : frames_)
      for (const Overlap& overlap : frame.overlaps)
        if (overlap.iou >= least_iou) ++pairs_[overlap.tracks].at_iou;
    TrackingCounts counts;
    for (const std::int64_t length : truth_lengths_) counts.truth_boxes += length;
    for (const std::int64_t length : found_lengths_) counts.found_boxes += length;
    counts.truth_lengths = truth_lengths_;
    counts.found_lengths = found_lengths_;
    count_clear(least_iou, counts);
    count_identities(counts);
    count_hota(counts);
    return counts;
  }

 private:
  void add(std::size_t place, const TrackingFrame& frame) {
    check(place, frame);
    const std::vector<bool> is_left_out = find_left_out(frame);
    FrameTracks& added = frames_.emplace_back();
    std::vector<BoundingBox> truth, found;
    for (const TruthTrackBox& one : frame.truth) {
      if (one.role != TruthRole::counted) continue;
      added.truth.push_back(note(truth_numbers_, truth_lengths_, one.id));
      truth.push_back(one.box);
    }
    for (std::size_t i = 0; i < frame.found.size(); ++i) {
      if (is_left_out[i]) continue;
      added.found.push_back(note(found_numbers_, found_lengths_, frame.found[i].id));
      found.push_back(frame.found[i].box);
    }
    for_each_overlap(truth, found, [&](std::size_t i, std::size_t j, double overlap) {
      added.overlaps.push_back({i, j, pair_of(added.truth[i], added.found[j]), overlap});
    });
  }

  static std::size_t note(Numbers& numbers, std::vector<std::int64_t>& lengths, std::int64_t id) {
    const std::size_t number = numbers.of(id);
    if (number == lengths.size()) lengths.push_back(0);
    ++lengths[number];
    return number;
  }

  std::size_t pair_of(std::size_t truth, std::size_t found) {
    const auto key = (static_cast<std::uint64_t>(truth) << 32) | static_cast<std::uint64_t>(found);
    const auto [at, is_new] = pair_numbers_.try_emplace(key, pairs_.size());
    if (is_new) pairs_.push_back({.truth = truth, .found = found});
    return at->second;
  }

  void check(std::size_t place, const TrackingFrame& frame) {
    const auto check_side = [&](const auto& boxes, const char* side) {
      ids_.clear();
      for (const auto& one : boxes) {
        check_box("count_tracking", place, one.box);
        ids_.push_back(one.id);
      }
      std::ranges::sort(ids_);
      if (const auto twice = std::ranges::adjacent_find(ids_); twice != ids_.end())
        throw InvalidArgument(ErrorCode::invalid_argument,
                              "count_tracking: frame " + std::to_string(place) + " has the id " +
                                  std::to_string(*twice) + " twice in what " + side +
                                  "; give each object of a frame its own id");
    };
    check_side(frame.truth, "is true");
    check_side(frame.found, "was found");
  }

  /// Which boxes match a distractor, if all objects are matched with all boxes.
  std::vector<bool> find_left_out(const TrackingFrame& frame) {
    std::vector<bool> is_left_out(frame.found.size(), false);
    const auto is_distractor = [](const TruthTrackBox& one) {
      return one.role == TruthRole::distractor;
    };
    if (std::ranges::none_of(frame.truth, is_distractor)) return is_left_out;
    std::vector<BoundingBox> truth, found;
    for (const TruthTrackBox& one : frame.truth) truth.push_back(one.box);
    for (const FoundTrackBox& one : frame.found) found.push_back(one.box);
    candidates_.clear();
    for_each_overlap(truth, found, [&](std::size_t i, std::size_t j, double overlap) {
      if (overlap >= kDistractorIou - kRounding) candidates_.push_back({i, j, overlap});
    });
    for (const std::size_t i : matcher_.match(truth.size(), found.size(), candidates_))
      if (is_distractor(frame.truth[candidates_[i].row])) is_left_out[candidates_[i].column] = true;
    return is_left_out;
  }

  void count_clear(double least_iou, TrackingCounts& counts) {
    const std::size_t tracks = truth_lengths_.size();
    std::vector<std::size_t> last(tracks, kNoTrack);    ///< what it was matched with most recently
    std::vector<std::size_t> before(tracks, kNoTrack);  ///< in the frame before
    std::vector<std::size_t> matched_before, matched;
    std::vector<std::int64_t> matches(tracks, 0), fragments(tracks, 0);
    std::vector<const Overlap*> overlaps;
    for (const FrameTracks& frame : frames_) {
      if (frame.truth.empty() || frame.found.empty()) continue;
      candidates_.clear();
      overlaps.clear();
      for (const Overlap& overlap : frame.overlaps) {
        if (overlap.iou < least_iou - kRounding) continue;
        const bool kept = before[frame.truth[overlap.truth]] == frame.found[overlap.found];
        candidates_.push_back({overlap.truth, overlap.found, (kept ? kKept : 0) + overlap.iou});
        overlaps.push_back(&overlap);
      }
      const std::vector<std::size_t> chosen =
          matcher_.match(frame.truth.size(), frame.found.size(), candidates_);
      matched.clear();
      for (const std::size_t i : chosen) {
        const std::size_t truth = frame.truth[overlaps[i]->truth];
        const std::size_t found = frame.found[overlaps[i]->found];
        if (last[truth] != kNoTrack && last[truth] != found) ++counts.id_switches;
        if (before[truth] == kNoTrack) ++fragments[truth];
        last[truth] = found;
        ++matches[truth];
        ++counts.matches;
        counts.iou_sum += overlaps[i]->iou;
        matched.push_back(truth);
      }
      for (const std::size_t truth : matched_before) before[truth] = kNoTrack;
      for (const std::size_t truth : matched) before[truth] = last[truth];
      matched_before.swap(matched);
    }
    for (std::size_t i = 0; i < tracks; ++i) {
      const double share = static_cast<double>(matches[i]) / static_cast<double>(truth_lengths_[i]);
      ++(share > 0.8    ? counts.mostly_tracked
         : share >= 0.2 ? counts.partly_tracked
                        : counts.mostly_lost);
      counts.fragmentations += std::max<std::int64_t>(fragments[i] - 1, 0);
    }
  }

  /// Matches whole tracks so that the frames in common are as many as possible.
  void count_identities(TrackingCounts& counts) {
    candidates_.clear();
    for (const TrackPair& pair : pairs_)
      if (pair.at_iou > 0)
        candidates_.push_back({pair.truth, pair.found, static_cast<double>(pair.at_iou)});
    std::ranges::stable_sort(candidates_, {}, &WeightedPair::row);
    for (const std::size_t i :
         matcher_.match(truth_lengths_.size(), found_lengths_.size(), candidates_))
      counts.identity_matches += static_cast<std::int64_t>(candidates_[i].weight);
  }

  void count_hota(TrackingCounts& counts) {
    add_likeness();
    for (const FrameTracks& frame : frames_) {
      candidates_.clear();
      for (const Overlap& overlap : frame.overlaps)
        candidates_.push_back({overlap.truth, overlap.found, likeness(overlap) * overlap.iou});
      for (const std::size_t chosen :
           matcher_.match(frame.truth.size(), frame.found.size(), candidates_)) {
        const Overlap& overlap = frame.overlaps[chosen];
        std::size_t reached = 0;
        while (reached < kHotaIous && overlap.iou >= hota_iou(reached) - kRounding) {
          ++counts.localised[reached].matches;
          counts.localised[reached].iou_sum += overlap.iou;
          ++reached;
        }
        ++pairs_[overlap.tracks].matches[reached];
      }
    }
    for (const TrackPair& pair : pairs_) add_association(pair, counts);
  }

  /// Adds for each frame the IoU of two boxes, divided by the sum of the IoUs of all pairs that
  /// have one of them.
  void add_likeness() {
    std::vector<double> of_truth, of_found;
    for (const FrameTracks& frame : frames_) {
      of_truth.assign(frame.truth.size(), 0);
      of_found.assign(frame.found.size(), 0);
      for (const Overlap& overlap : frame.overlaps) {
        of_truth[overlap.truth] += overlap.iou;
        of_found[overlap.found] += overlap.iou;
      }
      for (const Overlap& overlap : frame.overlaps)
        if (const double all = of_truth[overlap.truth] + of_found[overlap.found] - overlap.iou;
            all > kRounding)
          pairs_[overlap.tracks].likeness += overlap.iou / all;
    }
  }

  double likeness(const Overlap& overlap) const {
    const TrackPair& pair = pairs_[overlap.tracks];
    return pair.likeness / (frames_of_both(pair) - pair.likeness);
  }

  double frames_of_both(const TrackPair& pair) const {
    return static_cast<double>(truth_lengths_[pair.truth] + found_lengths_[pair.found]);
  }

  /// Each match of two tracks counts by how well they agree: their matches divided by all their
  /// frames.
  void add_association(const TrackPair& pair, TrackingCounts& counts) const {
    std::int64_t matches = 0;
    for (std::size_t i = kHotaIous; i-- > 0;) {
      matches += pair.matches[i + 1];
      const auto shared = static_cast<double>(matches);
      TrackingCounts::Localised& localised = counts.localised[i];
      localised.association_sum += shared * shared / (frames_of_both(pair) - shared);
      localised.association_recall_sum +=
          shared * shared / static_cast<double>(truth_lengths_[pair.truth]);
      localised.association_precision_sum +=
          shared * shared / static_cast<double>(found_lengths_[pair.found]);
    }
  }

  Numbers truth_numbers_, found_numbers_;
  std::vector<std::int64_t> truth_lengths_, found_lengths_;
  std::vector<FrameTracks> frames_;
  std::unordered_map<std::uint64_t, std::size_t> pair_numbers_;
  std::vector<TrackPair> pairs_;
  SparseMatcher matcher_;
  std::vector<WeightedPair> candidates_;
  std::vector<std::int64_t> ids_;
};

std::optional<double> median_length(std::vector<std::int64_t> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const auto upper = static_cast<double>(values[middle]);
  return values.size() % 2 == 1 ? upper : (static_cast<double>(values[middle - 1]) + upper) / 2;
}

void score_hota(const TrackingCounts& counts, TrackingScores& scores) {
  const auto truth = static_cast<double>(counts.truth_boxes);
  const auto found = static_cast<double>(counts.found_boxes);
  if (truth + found == 0) return;
  double hota = 0, det_a = 0, det_recall = 0, det_precision = 0;
  double ass_a = 0, ass_recall = 0, ass_precision = 0, loc_a = 0;
  for (const TrackingCounts::Localised& one : counts.localised) {
    const auto matches = static_cast<double>(one.matches);
    const double any = std::max(1.0, matches);
    const double detection = matches / (truth + found - matches);
    const double association = one.association_sum / any;
    scores.det_a_at.push_back(detection);
    scores.ass_a_at.push_back(association);
    scores.hota_at.push_back(std::sqrt(detection * association));
    hota += scores.hota_at.back();
    det_a += detection;
    det_recall += matches / std::max(1.0, truth);
    det_precision += matches / std::max(1.0, found);
    ass_a += association;
    ass_recall += one.association_recall_sum / any;
    ass_precision += one.association_precision_sum / any;
    loc_a += one.matches > 0 ? one.iou_sum / matches : 1;
  }
  constexpr double ious = kHotaIous;
  scores.hota = hota / ious;
  scores.det_a = det_a / ious;
  scores.det_recall = det_recall / ious;
  scores.det_precision = det_precision / ious;
  scores.ass_a = ass_a / ious;
  scores.ass_recall = ass_recall / ious;
  scores.ass_precision = ass_precision / ious;
  scores.loc_a = loc_a / ious;
}

}  // namespace

TrackingCounts& TrackingCounts::operator+=(const TrackingCounts& other) {
  truth_boxes += other.truth_boxes;
  found_boxes += other.found_boxes;
  matches += other.matches;
  iou_sum += other.iou_sum;
  id_switches += other.id_switches;
  fragmentations += other.fragmentations;
  mostly_tracked += other.mostly_tracked;
  partly_tracked += other.partly_tracked;
  mostly_lost += other.mostly_lost;
  identity_matches += other.identity_matches;
  for (std::size_t i = 0; i < kHotaIous; ++i) {
    localised[i].matches += other.localised[i].matches;
    localised[i].iou_sum += other.localised[i].iou_sum;
    localised[i].association_sum += other.localised[i].association_sum;
    localised[i].association_recall_sum += other.localised[i].association_recall_sum;
    localised[i].association_precision_sum += other.localised[i].association_precision_sum;
  }
  truth_lengths.insert(truth_lengths.end(), other.truth_lengths.begin(), other.truth_lengths.end());
  found_lengths.insert(found_lengths.end(), other.found_lengths.begin(), other.found_lengths.end());
  return *this;
}

TrackingCounts count_tracking(std::span<const TrackingFrame> frames, double iou) {
  check_iou("count_tracking", iou);
  return Sequence(frames).count(iou);
}

TrackingScores tracking_scores(const TrackingCounts& counts) {
  const std::int64_t truth = counts.truth_boxes, found = counts.found_boxes;
  const std::int64_t matches = counts.matches, identities = counts.identity_matches;
  TrackingScores scores;
  scores.mota = ratio(matches - (found - matches) - counts.id_switches, truth);
  if (matches > 0) scores.motp = counts.iou_sum / static_cast<double>(matches);
  scores.precision = ratio(matches, found);
  scores.recall = ratio(matches, truth);
  scores.idf1 = ratio(2 * identities, truth + found);
  scores.id_precision = ratio(identities, found);
  scores.id_recall = ratio(identities, truth);
  score_hota(counts, scores);
  scores.median_truth_length = median_length(counts.truth_lengths);
  scores.median_found_length = median_length(counts.found_lengths);
  return scores;
}

}  // namespace vcap
