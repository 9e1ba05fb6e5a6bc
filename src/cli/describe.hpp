// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/model/node_description.hpp"
#include "vcap/model/option.hpp"

namespace vcap::cli {

/// For people, in a line: "all of person, with upper_color (red, blue); tracked".
std::string describe(const NodeDescription& description);
/// For people, in a line: "a number from 0 to 1, 0.5 unless set".
std::string describe(const Option& option);

}  // namespace vcap::cli
