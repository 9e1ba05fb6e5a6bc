// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/image/picture_map.hpp"

namespace vcap {

/// How an 8-bit BGR picture becomes the input of a model. One description serves every engine.
/// Colours, element type, normalisation and layout are compiled into the model if the engine can do
/// so. Thread safety: value.
struct VCAP_EXPORT PictureInput {
  /// How a picture of another size or aspect is brought to the model's size.
  enum class Fit {
    stretch,           ///< to the size; the aspect may change
    letterbox,         ///< keeps the aspect; padding on both sides
    letterbox_corner,  ///< keeps the aspect; padding at the right and bottom
    crop_centre        ///< keeps the aspect; cuts off what is beyond the size
  };
  /// The channels that the model was trained with.
  enum class Colors { bgr, rgb, gray };
  /// The order of the model's dimensions. `automatic` takes what the file says. If the file does
  /// not say it, the dimension that has 1 or 3 elements is that of the channels.
  enum class Layout { automatic, nchw, nhwc };
  /// How pixels are interpolated if the size changes.
  enum class Interpolation { linear, area, nearest, cubic };

  std::string name{};  ///< of the model's input; empty: its only picture input
  /// Sizes that the model is compiled for, in rising order. With a letterbox, a picture goes into
  /// the first size that is wide enough if the picture fills its height. Otherwise it goes into the
  /// first size that is at least as large as the picture. If no size is large enough, it goes into
  /// the last. Empty: the model's own size.
  std::vector<cv::Size> sizes{};
  Fit fit = Fit::stretch;
  Colors colors = Colors::rgb;
  Layout layout = Layout::automatic;
  Interpolation interpolation = Interpolation::linear;
  /// value = (pixel - mean) / scale. One number for each channel in the order of `colors`, or one
  /// for all.
  std::vector<double> mean{0};
  std::vector<double> scale{1};
  double padding = 0;  ///< the pixel value of the padding, 0 to 255
};

/// Throws EngineError (invalid_model_spec) that names the field, its value and what is allowed.
VCAP_EXPORT void validate(const PictureInput& input);

/// The index of the size that a picture goes into. `sizes` has at least one. Thread-safe.
VCAP_EXPORT std::size_t choose_size(const std::vector<cv::Size>& sizes, cv::Size picture,
                                    PictureInput::Fit fit);

/// Writes `picture` (8-bit, 1, 3 or 4 channels) as BGR into `target` (8-bit, 3 channels, of the
/// model's size), and reads each pixel once. Gives the map from `target` back to `picture`. Throws
/// EngineError (model_input) for a picture that is empty or of another type. Thread-safe.
VCAP_EXPORT PictureMap fit_picture(const cv::Mat& picture, const PictureInput& input,
                                   cv::Mat& target);

}  // namespace vcap
