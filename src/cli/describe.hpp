// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "capsule/device_sets.hpp"
#include "vcap/model/node_description.hpp"
#include "vcap/model/option.hpp"

namespace vcap::cli {

/// For people, in one line: "all of person, with upper_color (red, blue); tracked".
std::string describe(const NodeDescription& description);
/// For people, in one line: "a number from 0 to 1, default 0.5".
std::string describe(const Option& option);

/// The properties that a config schema describes, including those of nested objects, one line each:
/// "/line: an array of 2, required  Where to count". Requires a schema that check() accepted.
std::vector<std::string> describe_properties(const nlohmann::json& schema);

/// Which of this machine's devices the backends of a capsule would get.
detail::DeviceDivision divide_devices(const DeviceSet& set);

}  // namespace vcap::cli
