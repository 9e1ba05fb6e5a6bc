// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// A camera of this machine, as open_source takes it by its index. Thread safety: value.
struct Webcam {
  int index = 0;              ///< of /dev/videoINDEX
  std::string description{};  ///< what its driver calls it; empty where it does not tell

  friend bool operator==(const Webcam&, const Webcam&) = default;
};

/// Those that there are, by index. A camera may have further entries, which give no pictures.
VCAP_EXPORT std::vector<Webcam> list_webcams();

}  // namespace vcap
