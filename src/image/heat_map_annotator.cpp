// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/heat_map_annotator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/drawing.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr double kMostCells = 320;  ///< along the longer side

/// A Gaussian that ends at the radius, where it is 1 % of its middle.
cv::Mat spot_of(int radius) {
  cv::Mat spot(2 * radius + 1, 2 * radius + 1, CV_32F);
  for (int y = -radius; y <= radius; ++y)
    for (int x = -radius; x <= radius; ++x) {
      const double away = (x * x + y * y) / double(radius * radius);
      spot.at<float>(y + radius, x + radius) =
          away > 1 ? 0.0F : static_cast<float>(std::exp(-4.6 * away));
    }
  return spot;
}

void add_spot(cv::Mat& heat, const cv::Mat& spot, cv::Point at) {
  const cv::Rect wanted(at - cv::Point(spot.cols / 2, spot.rows / 2), spot.size());
  const cv::Rect seen = wanted & cv::Rect({}, heat.size());
  if (seen.empty()) return;
  cv::Mat part = heat(seen);
  part += spot(seen - wanted.tl());
}

bool breaks_heat(Discontinuity discontinuity) {
  return discontinuity == Discontinuity::start || discontinuity == Discontinuity::seek ||
         discontinuity == Discontinuity::loop;
}

/// `strength`: CV_8U. The hotter, the less of the image is seen.
void mix_by_strength(cv::Mat& image, const cv::Mat& colors, const cv::Mat& strength,
                     double opacity) {
  for (int y = 0; y < image.rows; ++y) {
    auto* const to = image.ptr<cv::Vec3b>(y);
    const auto* const color = colors.ptr<cv::Vec3b>(y);
    const auto* const how_much = strength.ptr<unsigned char>(y);
    for (int x = 0; x < image.cols; ++x) {
      if (how_much[x] == 0) continue;
      const int share = static_cast<int>(256 * opacity * std::sqrt(how_much[x] / 255.0));
      for (int i = 0; i < 3; ++i)
        to[x][i] =
            static_cast<unsigned char>((to[x][i] * (256 - share) + color[x][i] * share) >> 8);
    }
  }
}

}  // namespace

HeatMapAnnotator::HeatMapAnnotator(HeatMapSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "HeatMapAnnotator");
  check_setting(settings_.radius, 0.001, 0.5, "HeatMapAnnotator", "the radius");
  check_setting(settings_.opacity, 0, 1, "HeatMapAnnotator", "the opacity");
  if (settings_.half_life.count() < 0)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "HeatMapAnnotator: the half-life is " +
                              std::to_string(settings_.half_life.count()) +
                              " ns; give 0 (never) or more");
}

HeatMapAnnotator::~HeatMapAnnotator() = default;

void HeatMapAnnotator::reset() {
  heat_.release();
  last_.reset();
}

void HeatMapAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes,
                            const Frame& frame) {
  if (breaks_heat(frame.discontinuity) || (last_ && frame.pts < *last_) || image.size() != size_)
    reset();
  const double cells = std::min(1.0, kMostCells / std::max(image.cols, image.rows));
  if (heat_.empty()) {
    size_ = image.size();
    const cv::Size grid(std::max(1, static_cast<int>(std::lround(image.cols * cells))),
                        std::max(1, static_cast<int>(std::lround(image.rows * cells))));
    heat_ = cv::Mat::zeros(grid, CV_32F);
    const double radius = settings_.radius * std::max(grid.width, grid.height);
    spot_ = spot_of(std::max(1, static_cast<int>(std::lround(radius))));
  }
  if (last_ && settings_.half_life.count() > 0)
    heat_ *= std::exp2(-double((frame.pts - *last_).count()) / double(settings_.half_life.count()));
  last_ = frame.pts;
  visit(nodes, settings_.style, [&](const DetectionNode& node) {
    add_spot(heat_, spot_, pixel(anchor_of(node.bbox(), settings_.anchor) * cells));
  });
  double hottest = 0;
  cv::minMaxLoc(heat_, nullptr, &hottest);
  if (!(hottest > 0)) return;
  // Roots, so that one place where somebody stands does not make all others invisible.
  cv::Mat roots, strength, full, colors;
  cv::sqrt(heat_, roots);
  roots.convertTo(strength, CV_8U, 255 / std::sqrt(hottest));
  cv::resize(strength, full, image.size(), 0, 0, cv::INTER_LINEAR);
  cv::applyColorMap(full, colors, cv::COLORMAP_TURBO);
  mix_by_strength(image, colors, full, settings_.opacity);
}

}  // namespace vcap
