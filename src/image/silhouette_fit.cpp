// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/silhouette_fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/frame_check.hpp"
#include "image/overlap.hpp"
#include "image/silhouette_scene.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/people_crops.hpp"

namespace vcap {
namespace {

constexpr double kFromIou = 0.3, kToIou = 0.65;  ///< in between, evidence rises from 0 to 1
constexpr double kClearGain = 3;
constexpr double kEvidenceScore = 0.98;  ///< no detector is certain
constexpr double kRefitStep = 4;         ///< picture pixels
constexpr int kRefits = 2;
/// Picture pixels: how far a detector's box may be from its blob.
constexpr double kBlobMargin = 5;
// The grid over a blob: feet begin below its top and end below its bottom, which the mask may miss.
constexpr double kFeetFrom = 0.55, kFeetBeyond = 0.4, kSideMargin = 0.1, kNarrow = 0.3;
/// A person is not painted over at pixels that they cover with less than this probability.
constexpr double kPainted = 0.04;

void require_silhouettes(bool is_allowed, const std::string& what) {
  if (!is_allowed) throw InvalidArgument(ErrorCode::invalid_argument, "silhouette fit: " + what);
}

void require_silhouette_within(const char* what, double value, double least, double most) {
  require_silhouettes(value >= least && value <= most,
                      std::string(what) + " " + number_text(value) + " is not within " +
                          number_text(least) + " to " + number_text(most));
}

void check(const SilhouetteSettings& settings) {
  require_silhouette_within("noise", settings.noise, 1e-3, 0.999);
  require_silhouette_within("min_gain", settings.min_gain, 0, 100);
  require_silhouette_within("min_support", settings.min_support, 0, 100);
  require_silhouette_within("evidence_weight", settings.evidence_weight, 0, 100);
  require_silhouette_within("min_visible", settings.min_visible, 0, 1);
  require_silhouette_within("grid", settings.grid, 0.01, 10);
  require_silhouette_within("box_width", settings.box_width, 0.01, 10);
  require_silhouette_within("gain_score", settings.gain_score, 0, 1);
  require_silhouettes(settings.max_people >= 1,
                      "max_people " + std::to_string(settings.max_people) + " is not 1 or more");
  require_silhouettes(settings.max_candidates >= 1, "max_candidates is 0; give 1 or more");
  for (const double height : settings.heights)
    require_silhouette_within("a height", height, 0.1, 10);
}

double fitness(double iou) { return std::clamp((iou - kFromIou) / (kToIou - kFromIou), 0.0, 1.0); }

/// The search in one picture.
class SilhouetteSearch {
 public:
  SilhouetteSearch(const Foreground& foreground, const HeightModel& heights,
                   std::span<const PersonBox> boxes, const SilhouetteSettings& settings)
      : settings_(settings),
        heights_(heights),
        boxes_(boxes),
        is_used_(boxes.size()),
        scene_(foreground, settings) {}

  void search(const cv::Rect& blob) {
    const std::vector<Silhouette> candidates = candidates_of(blob);
    std::vector<Found> found;
    for (int i = 0; i < settings_.max_people; ++i) {
      const auto best = best_of(candidates);
      if (!best) break;
      const double step = settings_.grid * heights_.height_at(best->feet) / 2;
      Found next = judge(scene_.climb(*best, step, heights_));
      if (!is_worth(next)) break;
      take(next);
      found.push_back(next);
    }
    for (int i = 0; i < kRefits && found.size() > 1; ++i) {
      std::vector<Found> kept;
      for (Found& one : found)
        if (refit(one)) kept.push_back(one);
      found = std::move(kept);
    }
    for (const Found& one : found) people_.push_back({one.silhouette, one.gain, one.evidence, {}});
  }

  std::vector<FittedPerson> people() && {
    scene_.set_boxes(people_);
    std::erase_if(people_, [](const FittedPerson& person) { return !(person.box.area() > 0); });
    return std::move(people_);
  }

 private:
  struct Found {
    Silhouette silhouette;
    double gain, evidence;
    std::optional<std::size_t> box;
  };

  /// The best box that is not assigned to a person yet, and how well it fits.
  std::pair<double, std::optional<std::size_t>> evidence(const Silhouette& silhouette) const {
    const BoundingBox own = box_of(silhouette, settings_.box_width);
    std::pair<double, std::optional<std::size_t>> best{0, std::nullopt};
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (is_used_[i]) continue;
      const double value = boxes_[i].score * fitness(overlap(own, boxes_[i].box));
      if (value > best.first) best = {value, i};
    }
    return best;
  }
  Found judge(const Silhouette& silhouette) {
    const auto [value, box] = evidence(silhouette);
    return {silhouette, scene_.gain(silhouette).per_pixel, value, box};
  }
  bool is_worth(const Found& found) const {
    return found.gain >= settings_.min_gain &&
           found.gain + settings_.evidence_weight * found.evidence >= settings_.min_support;
  }
  void take(const Found& found) {
    scene_.add(found.silhouette);
    if (found.box) is_used_[*found.box] = true;
  }
  /// Fits it again next to the others; false: it now gains too little.
  bool refit(Found& found) {
    if (found.box) is_used_[*found.box] = false;
    scene_.take_out(found.silhouette);
    found = judge(scene_.climb(found.silhouette, kRefitStep, heights_));
    if (!is_worth(found)) return false;
    take(found);
    return true;
  }

  std::optional<Silhouette> best_of(const std::vector<Silhouette>& candidates) {
    std::optional<Silhouette> best;
    double most = 0;
    for (const Silhouette& candidate : candidates) {
      const SilhouetteScene::Gain gain = scene_.gain(candidate);
      if (gain.per_pixel < settings_.min_gain) continue;
      const double value =
          (gain.per_pixel + settings_.evidence_weight * evidence(candidate).first) * gain.pixels;
      if (best && value <= most) continue;
      best = candidate;
      most = value;
    }
    return best;
  }

  std::vector<Silhouette> candidates_of(const cv::Rect& blob) const {
    std::vector<Silhouette> candidates;
    const auto add = [&](double x, double feet) {
      candidates.push_back({x, feet, heights_.height_at(feet)});
    };
    const double right = blob.x + blob.width, bottom = blob.y + blob.height;
    const double height = heights_.height_at(bottom);
    const double step =
        std::max(settings_.grid * height,
                 std::sqrt(double(blob.width) * blob.height / double(settings_.max_candidates)));
    const double from = blob.height > kFeetFrom * height ? blob.y + kFeetFrom * height : bottom;
    for (double feet = from; feet < bottom + kFeetBeyond * height; feet += step) {
      if (blob.width <= kNarrow * height) {
        add(blob.x + blob.width / 2.0, feet);
        continue;
      }
      for (double x = blob.x + kSideMargin * height; x < right - kSideMargin * height + 1;
           x += step)
        add(x, feet);
    }
    for (const PersonBox& person : boxes_) {
      const cv::Point2d centre = person.box.centre();
      if (centre.x < blob.x - kBlobMargin || centre.x > right + kBlobMargin ||
          centre.y < blob.y - kBlobMargin || centre.y > bottom + kBlobMargin)
        continue;
      add(centre.x, person.box.y2);
      add(centre.x, heights_.feet_below(person.box.y1));
    }
    return candidates;
  }

  const SilhouetteSettings& settings_;
  const HeightModel& heights_;
  const std::span<const PersonBox> boxes_;
  std::vector<bool> is_used_;
  SilhouetteScene scene_;
  std::vector<FittedPerson> people_{};
};

}  // namespace

SilhouetteFit::SilhouetteFit(SilhouetteSettings settings) : settings_(std::move(settings)) {
  check(settings_);
}

std::vector<FittedPerson> SilhouetteFit::fit(const Foreground& foreground,
                                             std::span<const cv::Rect> blobs,
                                             const HeightModel& heights,
                                             std::span<const PersonBox> boxes) const {
  require_silhouettes(
      foreground.scale >= 1,
      "the foreground's scale " + std::to_string(foreground.scale) + " is not 1 or more");
  require_silhouettes(heights.is_ready(),
                      "the height model is not calibrated; check is_ready() first");
  if (foreground.mask.empty()) return {};
  SilhouetteSearch search(foreground, heights, boxes, settings_);
  for (const cv::Rect& blob : blobs) search.search(blob);
  return std::move(search).people();
}

double SilhouetteFit::evidence(const Silhouette& silhouette,
                               std::span<const PersonBox> boxes) const {
  const BoundingBox own = box_of(silhouette, settings_.box_width);
  double best = 0;
  for (const PersonBox& person : boxes)
    best = std::max(best, person.score * fitness(overlap(own, person.box)));
  return best;
}

double SilhouetteFit::score(const FittedPerson& person) const noexcept {
  const double by_gain = settings_.gain_score * std::clamp(person.gain / kClearGain, 0.0, 1.0);
  return 1 - (1 - kEvidenceScore * person.evidence) * (1 - by_gain);
}

cv::Mat SilhouetteFit::isolated(const cv::Mat& picture, const cv::Mat& background, int scale,
                                std::span<const FittedPerson> people, std::size_t index,
                                const cv::Rect& crop) const {
  check_frame(picture, "silhouette fit");
  check_frame(background, "silhouette fit");
  require_silhouettes(picture.type() == CV_8UC3 && background.type() == CV_8UC3,
                      "picture and background must be 8-bit BGR (CV_8UC3); convert them first");
  require_silhouettes(scale >= 1, "scale " + std::to_string(scale) + " is not 1 or more");
  require_silhouettes(index < people.size(), "there is no person " + std::to_string(index) +
                                                 " of " + std::to_string(people.size()) +
                                                 ", counted from 0");
  cv::Mat result = crop_padded(picture, crop);
  // The crop in pixels of the mask, with one more on each side for interpolation.
  const cv::Rect mask_frame({}, background.size());
  const cv::Point from(cvFloor(crop.x / double(scale)) - 1, cvFloor(crop.y / double(scale)) - 1);
  const cv::Point to(cvCeil(crop.br().x / double(scale)) + 1,
                     cvCeil(crop.br().y / double(scale)) + 1);
  const cv::Rect region = cv::Rect(from, to) & mask_frame;
  if (people.size() < 2 || region.empty()) return result;

  cv::Mat1f own(region.size(), 0.0F), others(region.size(), 0.0F);
  Silhouettes silhouettes(scale);
  bool is_alone = true;
  for (std::size_t i = 0; i < people.size(); ++i) {
    const Silhouettes::Placed placed = silhouettes.place(people[i].silhouette);
    const cv::Rect part = placed.place & region;
    if (part.empty()) continue;
    if (i != index) is_alone = false;
    cv::Mat target = (i == index ? own : others)(part - region.tl());
    cv::Mat covered;
    (*placed.covered)(part - placed.place.tl()).convertTo(covered, CV_32F);
    cv::max(target, covered, target);
  }
  if (is_alone) return result;
  if (result.u == picture.u) result = result.clone();  // the caller's pixels must not change
  const cv::Size full = region.size() * scale;
  cv::Mat own_full, others_full, background_full;
  cv::resize(own, own_full, full, 0, 0, cv::INTER_LINEAR);
  cv::resize(others, others_full, full, 0, 0, cv::INTER_LINEAR);
  cv::resize(background(region), background_full, full, 0, 0, cv::INTER_LINEAR);
  const cv::Rect painted = cv::Rect(region.tl() * scale, full) & crop;
  if (painted.empty()) return result;
  const cv::Point at = painted.tl() - region.tl() * scale;
  const cv::Rect source(at, painted.size());
  cv::Mat is_other;
  cv::compare(others_full(source), cv::max(own_full(source), kPainted), is_other, cv::CMP_GT);
  background_full(source).copyTo(result(painted - crop.tl()), is_other);
  return result;
}

}  // namespace vcap
