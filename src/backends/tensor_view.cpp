// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/tensor_view.hpp"

namespace vcap {

std::string TensorView::shape_text() const {
  std::string text = "[";
  for (const std::size_t length : shape) {
    if (text.size() > 1) text += ',';
    text += std::to_string(length);
  }
  return text + "]";
}

}  // namespace vcap
