// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/image/silhouette_fit.hpp"

namespace vcap {

/// Silhouettes of all sizes, in pixels of a mask. Thread safety: thread-compatible.
class Silhouettes {
 public:
  explicit Silhouettes(int scale) : scale_(scale) {}

  struct Placed {
    const cv::Mat1d* covered;  ///< for each pixel, the probability that the person covers it
    double sum;                ///< of all these probabilities
    cv::Rect place;            ///< of the silhouette in the mask; may reach beyond
  };
  Placed place(const Silhouette& silhouette);

 private:
  struct Template {
    cv::Mat1d covered;
    double sum;
  };
  const Template& of_height(double height);

  const int scale_;
  std::map<int, Template> templates_{};  // by height in half pixels of the mask
};

/// A mask and the people that explain it so far. Thread safety: thread-compatible.
class SilhouetteScene {
 public:
  SilhouetteScene(const Foreground& foreground, const SilhouetteSettings& settings);

  struct Gain {
    double per_pixel = -9, pixels = 0;  ///< no gain unless enough of it is in the picture
    double total() const noexcept { return per_pixel * pixels; }
  };
  /// The gain of adding the silhouette.
  Gain gain(const Silhouette& silhouette);
  void add(const Silhouette& silhouette) { explain(silhouette, true); }
  void take_out(const Silhouette& silhouette) { explain(silhouette, false); }
  /// The best place nearby: steps of `step` picture pixels at first, halved down to 1.
  Silhouette climb(Silhouette silhouette, double step, const HeightModel& heights);
  /// Sets each person's box to what is visible of them; people with lower feet are in front.
  void set_boxes(std::vector<FittedPerson>& people);

 private:
  void explain(const Silhouette& silhouette, bool is_there);
  std::optional<BoundingBox> visible_box(const Silhouettes::Placed& placed, double height,
                                         const cv::Mat1i& owner, int index) const;

  const SilhouetteSettings& settings_;
  const cv::Mat1b mask_;
  const int scale_;
  const cv::Rect frame_;   // of the mask
  cv::Mat1d unexplained_;  // (1 − noise)·Π(1 − tᵢ)
  Silhouettes silhouettes_;
};

/// The box of a silhouette, from its place and height only.
BoundingBox box_of(const Silhouette& silhouette, double width);

}  // namespace vcap
