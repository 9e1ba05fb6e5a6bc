// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vcap::bench {

/// The video that figures are taken on. Throws std::runtime_error where the environment variable
/// VCAP_FOOTAGE names none.
std::string footage();

}  // namespace vcap::bench
