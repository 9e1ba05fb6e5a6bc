// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/stencil.hpp"

#include <algorithm>

namespace vcap {

std::string_view to_string(StencilEdge edge) noexcept {
  switch (edge) {
    case StencilEdge::null:
      return "null";
    case StencilEdge::error:
      return "error";
    case StencilEdge::repeat:
      break;
  }
  return "repeat";
}

std::int64_t Stencil::back() const noexcept {
  return offsets.empty() ? 0 : std::max(0, -*std::ranges::min_element(offsets));
}

std::int64_t Stencil::ahead() const noexcept {
  return offsets.empty() ? 0 : std::max(0, *std::ranges::max_element(offsets));
}

}  // namespace vcap
