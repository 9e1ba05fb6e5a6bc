// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// One output of a model, as 32-bit floats in row-major order. Engines convert other element types.
///
/// `values` points into the engine's memory and is valid only as long as the engine says, usually
/// during one call. Thread safety: value.
struct VCAP_EXPORT TensorView {
  std::string name{};
  std::vector<std::size_t> shape{};  ///< from the outermost dimension to the innermost
  std::span<const float> values{};   ///< as many as the product of `shape`

  /// `shape` as text, such as "[1,1,200,7]".
  std::string shape_text() const;
};

}  // namespace vcap
