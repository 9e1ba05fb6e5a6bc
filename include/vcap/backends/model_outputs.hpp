// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include <opencv2/core/types.hpp>

#include "vcap/backends/tensor_view.hpp"
#include "vcap/base/export.hpp"
#include "vcap/image/picture_map.hpp"

namespace vcap {

/// What a model gave for one picture, and how its coordinates map back. A ModelRunner makes it for
/// a call of the reader; it is valid during that call. Thread safety: value.
struct VCAP_EXPORT ModelOutputs {
  std::span<const TensorView> tensors{};  ///< in the model's order
  cv::Size input{};                       ///< the size of the model's input in pixels
  cv::Size picture{};                     ///< the size of the picture that was given
  PictureMap map{};                       ///< from pixels of the input to pixels of the picture

  /// The output at `index`; throws EngineError (model_output) if there are fewer.
  const TensorView& at(std::size_t index) const;
  /// The output of that name; throws EngineError (model_output) that lists the names.
  const TensorView& at(std::string_view name) const;
};

}  // namespace vcap
