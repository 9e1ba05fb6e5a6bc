// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// A mask of what is not background: 255 there, 0 elsewhere. One pixel of the mask covers `scale` ×
/// `scale` pixels of the picture. Thread safety: value.
struct VCAP_EXPORT Foreground {
  cv::Mat1b mask{};
  int scale = 1;  ///< pixels of the picture per pixel of the mask, along each axis

  /// The part of the mask that is set, in 0…1. If it is above a third, usually the camera moves or
  /// the light changes.
  double share() const;
  /// The same for a box, in pixels of the picture, cut to the picture; 0 if it lies outside.
  double share(const BoundingBox& box) const;
};

/// How a BackgroundModel learns. Thread safety: value.
struct BackgroundSettings {
  std::size_t samples = 30;  ///< how many pictures are kept, 3…255
  /// The time between samples at first. It doubles, up to last_interval, whenever all samples are
  /// there.
  std::chrono::nanoseconds first_interval = std::chrono::milliseconds(100);
  std::chrono::nanoseconds last_interval = std::chrono::seconds(1);
  std::size_t ready_at = 5;  ///< the model is ready from this number of samples on, ≥ 1
  /// Pictures are first averaged over this many pixels along each axis. 0: one for each 640 pixels
  /// of the picture's width and at least 2.
  int scale = 0;
  double blur = 0.5;      ///< sigma of the Gaussian on both sides of a difference, in mask pixels
  int refresh_calls = 8;  ///< how many calls of observe() share the work of a new median, ≥ 1
};

/// What a fixed camera sees when nothing moves: for each pixel and channel, the median of some past
/// pictures.
///
///     model.observe(frame.image, frame.pts);
///     if (model.is_ready()) find_people(model.foreground(frame.image, 25));
///
/// A pixel is right if more than half of the samples show the background there. So a thing that
/// stands still becomes background after half of the time that the samples span (some 15 s in the
/// long run). If it leaves later, its place counts as foreground for a time.
///
/// Samples: when there is one too many, every second one is dropped and the interval doubles; at
/// the last interval, only the oldest one is dropped. Memory: samples · 3 bytes for each pixel of
/// the mask, such as 20 MB for 1280×720 by default. Time: a call of observe() does
/// 1/`refresh_calls` of the work for a median; the first medians are made in one call each.
///
/// Source: the temporal median as background, R. Cutler, L. Davis, "View-based detection and
/// analysis of periodic motion", ICPR 1998; the schedule of samples is vcap's own. The result
/// depends only on the pictures and times. A copy is independent of the original. Thread safety:
/// thread-compatible.
class VCAP_EXPORT BackgroundModel {
 public:
  /// Throws InvalidArgument that names the setting, its value and what is allowed.
  explicit BackgroundModel(const BackgroundSettings& settings = {});
  BackgroundModel(const BackgroundModel& other);
  BackgroundModel(BackgroundModel&&) = default;
  BackgroundModel& operator=(const BackgroundModel& other);
  BackgroundModel& operator=(BackgroundModel&&) = default;
  ~BackgroundModel() = default;

  /// Takes the stream's next picture, 8-bit BGR. It becomes a sample if it is the first, if its pts
  /// is before the last sample's, or if the interval since the last sample is over. A picture of
  /// another size resets the model. Throws InvalidArgument for a picture that is empty or of
  /// another type.
  void observe(const cv::Mat& picture, std::chrono::nanoseconds pts);
  bool is_ready() const noexcept { return is_ready_; }
  /// Forgets everything, for example after the camera was turned.
  void reset();

  /// The pixels that differ from the background by more than `threshold`, 0…255, in any channel. A
  /// mask of zeros if the model is not ready. Throws InvalidArgument if the picture's size or type
  /// differs from the last observed one's.
  Foreground foreground(const cv::Mat& picture, int threshold) const;
  /// The same for several thresholds; the difference is computed once.
  std::vector<Foreground> foregrounds(const cv::Mat& picture,
                                      const std::vector<int>& thresholds) const;

  /// The background, 8-bit BGR, of the mask's size; empty if the model is not ready.
  const cv::Mat& background() const& noexcept { return median_; }
  cv::Mat background() && noexcept { return std::move(median_); }
  /// Pixels of the picture per pixel of the mask, along each axis; 0 before the first picture.
  int scale() const noexcept { return scale_; }
  std::size_t sample_count() const noexcept { return samples_.size(); }
  std::chrono::nanoseconds interval() const noexcept { return interval_; }
  std::size_t memory_bytes() const noexcept;

 private:
  cv::Mat shrunk(const cv::Mat& picture) const;
  void add_sample(cv::Mat sample, std::chrono::nanoseconds pts);
  void refresh(int rows);

  BackgroundSettings settings_;
  cv::Size picture_size_{};
  int scale_ = 0;
  std::chrono::nanoseconds interval_;
  std::optional<std::chrono::nanoseconds> last_pts_{};
  std::vector<cv::Mat> samples_{};  // the oldest one first
  cv::Mat median_{}, blurred_{};
  int next_row_ = 0, stale_rows_ = 0;
  bool is_ready_ = false;
};

}  // namespace vcap
