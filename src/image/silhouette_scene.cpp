// SPDX-License-Identifier: Apache-2.0
#include "image/silhouette_scene.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <opencv2/imgproc.hpp>

#include "image/silhouette_template.hpp"

namespace vcap {
namespace {

/// A double can hold the product of this many factors of at least 0.03.
constexpr int kFactors = 64;
/// The greatest height of a person, in heights of the picture.
constexpr double kMaxPictures = 4;
constexpr double kImpossible = -1e9;

// What is visible of a person.
/// Below this probability of covering a pixel, a person does not own it.
constexpr double kLeastCovered = 0.06;
constexpr double kOpaque = 0.75;  ///< above this probability, a person hides those behind
/// Of the silhouette: below this, the box of the whole silhouette is used.
constexpr double kLeastOwned = 0.15;
constexpr double kColumnShare = 0.05, kRowShare = 0.04;  ///< of the height: shorter runs are specks

const cv::Mat1d& whole_template() {
  static const cv::Mat1d whole = [] {
    constexpr int rows = static_cast<int>(kSilhouetteTemplate.size());
    constexpr int half = static_cast<int>(kSilhouetteTemplate[0].size());
    cv::Mat1d made(rows, 2 * half);
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < half; ++x)
        made(y, x) = made(y, 2 * half - 1 - x) =
            kSilhouetteTemplate[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
    return made;
  }();
  return whole;
}

int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }

}  // namespace

BoundingBox box_of(const Silhouette& silhouette, double width) {
  const double half = width * silhouette.height / 2;
  return {silhouette.x - half, silhouette.feet - silhouette.height, silhouette.x + half,
          silhouette.feet};
}

const Silhouettes::Template& Silhouettes::of_height(double height) {
  const int halves = rounded(2 * height);
  const auto [it, is_new] = templates_.try_emplace(halves);
  if (is_new) {
    const cv::Size size(std::max(3, rounded(kTemplateWidth / 2 * halves)),
                        std::max(5, rounded(kTemplateHeight / 2 * halves)));
    cv::resize(whole_template(), it->second.covered, size, 0, 0, cv::INTER_LINEAR);
    cv::min(it->second.covered, kMostCovered, it->second.covered);
    it->second.sum = cv::sum(it->second.covered)[0];
  }
  return it->second;
}

Silhouettes::Placed Silhouettes::place(const Silhouette& silhouette) {
  const double height = silhouette.height / scale_;
  const Template& found = of_height(height);
  const cv::Size size = found.covered.size();
  return {&found.covered,
          found.sum,
          {{rounded(silhouette.x / scale_ - size.width / 2.0),
            rounded(silhouette.feet / scale_ - kTemplateFeet * height)},
           size}};
}

SilhouetteScene::SilhouetteScene(const Foreground& foreground, const SilhouetteSettings& settings)
    : settings_(settings),
      mask_(foreground.mask),
      scale_(foreground.scale),
      frame_({}, foreground.mask.size()),
      unexplained_(foreground.mask.size(), 1 - settings.noise),
      silhouettes_(foreground.scale) {}

SilhouetteScene::Gain SilhouetteScene::gain(const Silhouette& silhouette) {
  if (!(silhouette.height > 0 && silhouette.height < kMaxPictures * frame_.height * scale_))
    return {};
  const Silhouettes::Placed placed = silhouettes_.place(silhouette);
  const cv::Rect part = placed.place & frame_;
  if (part.empty()) return {};
  double area = 0, gain = 0;
  for (int y = part.y; y < part.y + part.height; ++y) {
    const double* const covered =
        placed.covered->ptr<double>(y - placed.place.y) + part.x - placed.place.x;
    const double* const unexplained = unexplained_.ptr<double>(y) + part.x;
    const uchar* const mask = mask_.ptr(y) + part.x;
    for (int begin = 0; begin < part.width; begin += kFactors) {
      const int end = std::min(begin + kFactors, part.width);
      double with = 1, without = 1;
      for (int x = begin; x < end; ++x) {
        const double free = 1 - covered[x];
        area += covered[x];
        with *= mask[x] != 0 ? 1 - unexplained[x] * free : free;
        without *= mask[x] != 0 ? 1 - unexplained[x] : 1;
      }
      gain += std::log(with / without);
    }
  }
  if (area < settings_.min_visible * placed.sum || !(area > 0)) return {};
  return {gain / area, area};
}

void SilhouetteScene::explain(const Silhouette& silhouette, bool is_there) {
  const Silhouettes::Placed placed = silhouettes_.place(silhouette);
  const cv::Rect part = placed.place & frame_;
  for (int y = part.y; y < part.y + part.height; ++y)
    for (int x = part.x; x < part.x + part.width; ++x) {
      const double free = 1 - (*placed.covered)(y - placed.place.y, x - placed.place.x);
      double& value = unexplained_(y, x);
      value = is_there ? value * free : std::min(value / free, 1 - settings_.noise);
    }
}

Silhouette SilhouetteScene::climb(Silhouette silhouette, double step, const HeightModel& heights) {
  const auto value_of = [&](const Silhouette& one) {
    const Gain found = gain(one);
    return found.per_pixel > -5 ? found.total() : kImpossible;
  };
  double value = value_of(silhouette);
  bool is_better = false;
  const auto try_one = [&](const Silhouette& other) {
    const double other_value = value_of(other);
    if (!(other_value > value + 1e-6)) return;
    value = other_value;
    silhouette = other;
    is_better = true;
  };
  while (step >= 1) {
    is_better = false;
    for (const auto& [dx, dy] : {cv::Point2d(step, 0), {-step, 0}, {0, step}, {0, -step}}) {
      Silhouette moved = silhouette;
      moved.x += dx;
      moved.feet += dy;
      moved.height *= heights.height_at(moved.feet) / heights.height_at(silhouette.feet);
      try_one(moved);
    }
    for (const double factor : settings_.heights) {
      Silhouette scaled = silhouette;
      scaled.height = factor * heights.height_at(silhouette.feet);
      try_one(scaled);
    }
    if (!is_better) step /= 2;
  }
  return silhouette;
}

std::optional<BoundingBox> SilhouetteScene::visible_box(const Silhouettes::Placed& placed,
                                                        double height, const cv::Mat1i& owner,
                                                        int index) const {
  const cv::Rect part = placed.place & frame_;
  std::vector<int> columns(static_cast<std::size_t>(part.width));
  std::vector<int> rows(static_cast<std::size_t>(part.height));
  int owned = 0;
  double area = 0;
  for (int y = 0; y < part.height; ++y)
    for (int x = 0; x < part.width; ++x) {
      area += (*placed.covered)(part.y + y - placed.place.y, part.x + x - placed.place.x);
      if (owner(part.y + y, part.x + x) != index) continue;
      ++owned;
      ++columns[static_cast<std::size_t>(x)];
      ++rows[static_cast<std::size_t>(y)];
    }
  if (owned <= kLeastOwned * area) return std::nullopt;
  const auto bounds = [](const std::vector<int>& counts, double least) {
    const auto is_enough = [least](int count) { return count >= std::max(1.0, least); };
    const auto first = std::ranges::find_if(counts, is_enough);
    const auto last = std::find_if(counts.rbegin(), counts.rend(), is_enough);
    return std::pair(static_cast<int>(first - counts.begin()),
                     static_cast<int>(counts.rend() - last));
  };
  const auto [left, right] = bounds(columns, kColumnShare * height / scale_);
  const auto [top, bottom] = bounds(rows, kRowShare * height / scale_);
  if (left >= right || top >= bottom) return std::nullopt;
  return BoundingBox{double(scale_) * (part.x + left), double(scale_) * (part.y + top),
                     double(scale_) * (part.x + right), double(scale_) * (part.y + bottom)};
}

void SilhouetteScene::set_boxes(std::vector<FittedPerson>& people) {
  std::vector<std::size_t> order(people.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return people[i].silhouette.feet; });
  cv::Mat1i owner(mask_.size(), -1);
  cv::Mat1d most(mask_.size(), 0.0);
  for (const std::size_t i : order) {
    const Silhouettes::Placed placed = silhouettes_.place(people[i].silhouette);
    const cv::Rect part = placed.place & frame_;
    for (int y = part.y; y < part.y + part.height; ++y)
      for (int x = part.x; x < part.x + part.width; ++x) {
        const double covered = (*placed.covered)(y - placed.place.y, x - placed.place.x);
        double& before = most(y, x);
        if (!(covered > before && covered > kLeastCovered && before < kOpaque)) continue;
        before = covered;
        if (mask_(y, x) != 0) owner(y, x) = static_cast<int>(i);
      }
  }
  const double width = double(scale_) * frame_.width, height = double(scale_) * frame_.height;
  for (std::size_t i = 0; i < people.size(); ++i) {
    const Silhouette& silhouette = people[i].silhouette;
    const BoundingBox box =
        visible_box(silhouettes_.place(silhouette), silhouette.height, owner, static_cast<int>(i))
            .value_or(box_of(silhouette, settings_.box_width));
    people[i].box = {std::clamp(box.x1, 0.0, width), std::clamp(box.y1, 0.0, height),
                     std::clamp(box.x2, 0.0, width), std::clamp(box.y2, 0.0, height)};
  }
}

}  // namespace vcap
