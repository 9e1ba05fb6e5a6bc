// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/view/run_description.hpp"

namespace vcap {

/// What ran, as HTML. Thread-safe.
std::string run_section(const RunDescription& run);

}  // namespace vcap
