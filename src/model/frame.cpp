// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/frame.hpp"

namespace vcap {

std::string_view to_string(Discontinuity discontinuity) noexcept {
  switch (discontinuity) {
    case Discontinuity::none:
      return "none";
    case Discontinuity::start:
      return "start";
    case Discontinuity::gap:
      return "gap";
    case Discontinuity::seek:
      return "seek";
    case Discontinuity::reconnect:
      return "reconnect";
    case Discontinuity::loop:
      return "loop";
  }
  return "unknown";
}

}  // namespace vcap
