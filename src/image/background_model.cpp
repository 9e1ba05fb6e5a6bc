// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/background_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/frame_check.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr int kWidthPerScale = 640;
/// Tolerates camera jitter: a sample may come early by this part of an interval.
constexpr int kJitterPart = 20;
/// How many medians are computed side by side, in vector registers.
constexpr int kLane = 64;

void require_background(bool is_allowed, const std::string& what) {
  if (!is_allowed) throw InvalidArgument(ErrorCode::invalid_argument, "background model: " + what);
}

void check(const BackgroundSettings& settings) {
  require_background(settings.samples >= 3 && settings.samples <= 255,
                     "samples " + std::to_string(settings.samples) + " is not within 3 to 255");
  require_background(settings.ready_at >= 1 && settings.ready_at <= settings.samples,
                     "ready_at " + std::to_string(settings.ready_at) +
                         " is not within 1 to samples, " + std::to_string(settings.samples));
  require_background(
      settings.first_interval.count() > 0,
      "first_interval must be > 0, got " + std::to_string(settings.first_interval.count()) + " ns");
  require_background(settings.last_interval >= settings.first_interval,
                     "last_interval " + std::to_string(settings.last_interval.count()) +
                         " ns is shorter than first_interval, " +
                         std::to_string(settings.first_interval.count()) + " ns");
  require_background(settings.scale >= 0,
                     "scale " + std::to_string(settings.scale) + " is not 0 or more");
  require_background(std::isfinite(settings.blur) && settings.blur >= 0 && settings.blur <= 100,
                     "blur " + number_text(settings.blur) + " is not within 0 to 100");
  require_background(
      settings.refresh_calls >= 1,
      "refresh_calls " + std::to_string(settings.refresh_calls) + " is not 1 or more");
}

void check_picture(const cv::Mat& picture) {
  check_frame(picture, "background model");
  require_background(picture.type() == CV_8UC3,
                     "the picture is not 8-bit BGR (CV_8UC3); convert it first");
}

/// The lower medians of up to kLane positions of all samples, found bit by bit: a bit of the median
/// is set if at most half of the samples lie below the value with that bit.
void medians(const std::vector<const std::uint8_t*>& samples, int offset, int count,
             std::uint8_t* result) {
  std::array<std::uint8_t, kLane> median{}, trial{}, below{}, values{};
  const auto rank = static_cast<std::uint8_t>((samples.size() - 1) / 2);
  for (int bit = 0x80; bit != 0; bit >>= 1) {
    for (std::size_t j = 0; j < kLane; ++j) trial[j] = static_cast<std::uint8_t>(median[j] | bit);
    below.fill(0);
    for (const std::uint8_t* const sample : samples) {
      std::copy_n(sample + offset, count, values.data());
      for (std::size_t j = 0; j < kLane; ++j)
        below[j] = static_cast<std::uint8_t>(below[j] + (values[j] < trial[j] ? 1 : 0));
    }
    for (std::size_t j = 0; j < kLane; ++j) median[j] = below[j] <= rank ? trial[j] : median[j];
  }
  std::copy_n(median.data(), count, result + offset);
}

}  // namespace

double Foreground::share() const {
  return mask.empty() ? 0 : cv::countNonZero(mask) / static_cast<double>(mask.total());
}

double Foreground::share(const BoundingBox& box) const {
  const auto pixel = [this](double value, int limit) {
    return std::clamp(static_cast<int>(std::nearbyint(std::clamp(value / scale, -1.0, 1e6))), 0,
                      limit);
  };
  const cv::Rect part(cv::Point(pixel(box.x1, mask.cols), pixel(box.y1, mask.rows)),
                      cv::Point(pixel(box.x2, mask.cols), pixel(box.y2, mask.rows)));
  return part.empty() ? 0 : cv::countNonZero(mask(part)) / static_cast<double>(part.area());
}

BackgroundModel::BackgroundModel(const BackgroundSettings& settings)
    : settings_(settings), interval_(settings.first_interval) {
  check(settings);
}

// Samples are never written to again and can be shared; the medians are written in place.
BackgroundModel::BackgroundModel(const BackgroundModel& other)
    : settings_(other.settings_),
      picture_size_(other.picture_size_),
      scale_(other.scale_),
      interval_(other.interval_),
      last_pts_(other.last_pts_),
      samples_(other.samples_),
      median_(other.median_.clone()),
      blurred_(other.blurred_.clone()),
      next_row_(other.next_row_),
      stale_rows_(other.stale_rows_),
      is_ready_(other.is_ready_) {}

BackgroundModel& BackgroundModel::operator=(const BackgroundModel& other) {
  if (this != &other) *this = BackgroundModel(other);
  return *this;
}

void BackgroundModel::reset() {
  picture_size_ = {};
  scale_ = 0;
  interval_ = settings_.first_interval;
  last_pts_.reset();
  samples_.clear();
  median_.release();
  blurred_.release();
  next_row_ = stale_rows_ = 0;
  is_ready_ = false;
}

void BackgroundModel::observe(const cv::Mat& picture, std::chrono::nanoseconds pts) {
  check_picture(picture);
  if (picture.size() != picture_size_) {
    reset();
    picture_size_ = picture.size();
    const int automatic =
        std::max(2, static_cast<int>(std::lround(picture.cols / double{kWidthPerScale})));
    scale_ =
        std::min({settings_.scale > 0 ? settings_.scale : automatic, picture.cols, picture.rows});
  }
  const bool is_due =
      !last_pts_ || pts < *last_pts_ || pts - *last_pts_ >= interval_ - interval_ / kJitterPart;
  if (is_due) add_sample(shrunk(picture), pts);
  if (samples_.size() < settings_.ready_at) return;
  if (!is_ready_) median_.create(samples_.front().size(), CV_8UC3);
  // Spread over calls, except for the first medians: they are needed soon, and are cheap because
  // there are few samples.
  const bool is_urgent =
      is_due && samples_.size() <= 2 * settings_.ready_at && interval_ == settings_.first_interval;
  const int part = (median_.rows + settings_.refresh_calls - 1) / settings_.refresh_calls;
  refresh(is_ready_ && !is_urgent ? std::min(part, stale_rows_) : median_.rows);
  is_ready_ = true;
}

cv::Mat BackgroundModel::shrunk(const cv::Mat& picture) const {
  const cv::Size size(picture.cols / scale_, picture.rows / scale_);
  cv::Mat small;
  // The remainder of the division by the scale is cut off at the right and the bottom.
  cv::resize(picture(cv::Rect({}, size * scale_)), small, size, 0, 0, cv::INTER_AREA);
  return small.data == picture.data ? small.clone() : small;
}

void BackgroundModel::add_sample(cv::Mat sample, std::chrono::nanoseconds pts) {
  samples_.push_back(std::move(sample));
  last_pts_ = pts;
  stale_rows_ = samples_.back().rows;
  if (samples_.size() <= settings_.samples) return;
  if (interval_ >= settings_.last_interval) {
    samples_.erase(samples_.begin());
    return;
  }
  std::vector<cv::Mat> kept;
  for (std::size_t i = 0; i < samples_.size(); i += 2) kept.push_back(samples_[i]);
  samples_ = std::move(kept);
  interval_ = std::min(2 * interval_, settings_.last_interval);
}

void BackgroundModel::refresh(int rows) {
  if (rows == 0) return;
  const int width = 3 * median_.cols;
  std::vector<const std::uint8_t*> lines(samples_.size());
  for (int i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < samples_.size(); ++k) lines[k] = samples_[k].ptr(next_row_);
    for (int x = 0; x < width; x += kLane)
      medians(lines, x, std::min(kLane, width - x), median_.ptr(next_row_));
    next_row_ = (next_row_ + 1) % median_.rows;
  }
  stale_rows_ = std::max(0, stale_rows_ - rows);
  if (settings_.blur > 0)
    cv::GaussianBlur(median_, blurred_, {}, settings_.blur);
  else
    blurred_ = median_;
}

Foreground BackgroundModel::foreground(const cv::Mat& picture, int threshold) const {
  return foregrounds(picture, {threshold}).front();
}

std::vector<Foreground> BackgroundModel::foregrounds(const cv::Mat& picture,
                                                     const std::vector<int>& thresholds) const {
  check_picture(picture);
  require_background(picture.size() == picture_size_,
                     "a picture of " + std::to_string(picture.cols) + "x" +
                         std::to_string(picture.rows) +
                         " pixels was not observed; call observe() first");
  for (const int threshold : thresholds)
    require_background(threshold >= 0 && threshold <= 255,
                       "threshold " + std::to_string(threshold) + " is not within 0 to 255");
  const cv::Size size = picture_size_ / scale_;
  std::vector<Foreground> result;
  if (!is_ready_) {
    for (std::size_t i = 0; i < thresholds.size(); ++i)
      result.push_back({cv::Mat1b(size, std::uint8_t{0}), scale_});
    return result;
  }
  cv::Mat now = shrunk(picture), difference;
  if (settings_.blur > 0) cv::GaussianBlur(now, now, {}, settings_.blur);
  cv::absdiff(now, blurred_, difference);
  cv::Mat1b largest(size);
  for (int y = 0; y < size.height; ++y) {
    const cv::Vec3b* const from = difference.ptr<cv::Vec3b>(y);
    std::uint8_t* const to = largest.ptr(y);
    for (int x = 0; x < size.width; ++x) to[x] = std::max({from[x][0], from[x][1], from[x][2]});
  }
  for (const int threshold : thresholds) {
    cv::Mat1b mask;
    cv::compare(largest, threshold, mask, cv::CMP_GT);
    result.push_back({mask, scale_});
  }
  return result;
}

std::size_t BackgroundModel::memory_bytes() const noexcept {
  std::size_t pictures = samples_.size();
  if (is_ready_) pictures += settings_.blur > 0 ? 2 : 1;
  return samples_.empty() ? 0 : pictures * samples_.front().total() * samples_.front().elemSize();
}

}  // namespace vcap
