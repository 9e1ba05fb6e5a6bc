// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vcap {

/// The name of this machine. Thread-safe.
std::string host_name();

}  // namespace vcap
