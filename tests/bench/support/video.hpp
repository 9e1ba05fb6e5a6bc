// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vcap::bench {

/// The video for measurements, which the environment variable VCAP_FOOTAGE names. Throws
/// std::runtime_error if the variable is not set.
std::string footage();

}  // namespace vcap::bench
