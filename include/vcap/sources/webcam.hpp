// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// A camera of this machine; open_source takes its index. Thread safety: value.
struct Webcam {
  int index = 0;              ///< of /dev/videoINDEX
  std::string description{};  ///< the driver's name for it; empty if it has none

  friend bool operator==(const Webcam&, const Webcam&) = default;
};

/// The webcams of this machine, by index. A camera may have further entries that give no pictures.
VCAP_EXPORT std::vector<Webcam> list_webcams();

}  // namespace vcap
