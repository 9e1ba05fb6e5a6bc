// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// The name of this machine. Thread-safe.
VCAP_EXPORT std::string host_name();

}  // namespace vcap
