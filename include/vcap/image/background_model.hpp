// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// A mask of what is not background: 255 there, 0 elsewhere. One pixel of the mask stands for
/// `scale` × `scale` pixels of the picture. Thread safety: value.
struct VCAP_EXPORT Foreground {
  cv::Mat1b mask{};
  int scale = 1;  ///< pixels of the picture per pixel of the mask, along each axis

  /// The part of the mask that is set, in 0…1. Beyond a third, it is usually the camera that moves
  /// or the light that changes, and not things in the scene.
  double share() const;
  /// The same of a box in pixels of the picture, as far as it lies within; 0 if it does not.
  double share(const BoundingBox& box) const;
};

/// How a BackgroundModel learns. Thread safety: value.
struct BackgroundSettings {
  std::size_t samples = 30;  ///< how many pictures are kept, 3…255
  /// The time between samples at first. It doubles, up to the last, whenever all samples are there.
  std::chrono::nanoseconds first_interval = std::chrono::milliseconds(100);
  std::chrono::nanoseconds last_interval = std::chrono::seconds(1);
  std::size_t ready_at = 5;  ///< the number of samples from which on the model answers, ≥ 1
  /// Pictures are averaged over so many pixels along each axis before all else. 0: one for each
  /// 640 pixels of the picture's width and at least 2.
  int scale = 0;
  double blur = 0.5;      ///< sigma of the Gaussian on both sides of a difference, in mask pixels
  int refresh_calls = 8;  ///< over how many calls of observe() a new median is spread, ≥ 1
};

/// What a fixed camera sees when nothing moves: for each pixel and channel, the median of some
/// pictures of the past.
///
///     model.observe(frame.image, frame.pts);
///     if (model.is_ready()) find_people(model.foreground(frame.image, 25));
///
/// A pixel is right as long as it shows the background in more than half of the samples. So things
/// that stand still become background after half of the time that the samples span (some 15 s in
/// the long run), and until then leave a ghost behind when they go.
///
/// Samples: when all are there, every second one is dropped and the interval doubles; at the last
/// interval the oldest one goes. Memory: samples · 3 bytes for each pixel of the mask, such as
/// 20 MB for 1280×720 by default. Time: observe() pays a `refresh_calls`-th of a median; the first
/// `ready_at` medians come at once.
///
/// Source: the temporal median as background, R. Cutler, L. Davis, "View-based detection and
/// analysis of periodic motion", ICPR 1998; the schedule of samples is vcap's own. What it gives
/// depends on the pictures and times alone. Thread safety: thread-compatible.
class VCAP_EXPORT BackgroundModel {
 public:
  /// Throws InvalidArgument that names the setting, its value and what is allowed.
  explicit BackgroundModel(const BackgroundSettings& settings = {});

  /// Shows the model the stream's next picture, 8-bit BGR. The first one, a pts before the last
  /// sample's, and each one that the interval is over for becomes a sample. Pictures of another
  /// size reset the model. Throws InvalidArgument for a picture that is empty or of another type.
  void observe(const cv::Mat& picture, std::chrono::nanoseconds pts);
  bool is_ready() const noexcept { return is_ready_; }
  /// Forgets everything, such as when the camera has been turned.
  void reset();

  /// The pixels that differ from the background by more than `threshold`, 0…255, in some channel.
  /// A mask of zeros if the model is not ready. Throws InvalidArgument for a picture of another
  /// size or type than the one that was observed last.
  Foreground foreground(const cv::Mat& picture, int threshold) const;
  /// The same for several thresholds at the price of one.
  std::vector<Foreground> foregrounds(const cv::Mat& picture,
                                      const std::vector<int>& thresholds) const;

  /// The background, 8-bit BGR, of the mask's size; empty if the model is not ready.
  const cv::Mat& background() const noexcept { return median_; }
  /// Pixels of the picture per pixel of the mask, along each axis; 0 before the first picture.
  int scale() const noexcept { return scale_; }
  std::size_t sample_count() const noexcept { return samples_.size(); }
  std::chrono::nanoseconds interval() const noexcept { return interval_; }
  std::size_t memory_bytes() const noexcept;

 private:
  cv::Mat shrunk(const cv::Mat& picture) const;
  void add_sample(cv::Mat sample, std::chrono::nanoseconds pts);
  void refresh(int rows);

  const BackgroundSettings settings_;
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
