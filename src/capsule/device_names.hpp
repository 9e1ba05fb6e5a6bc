// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vcap::detail {

/// Throws DeviceError (unknown_device) if a name is not of the form KIND:NUMBER or occurs twice.
/// `where` begins the message and says where the list comes from.
void check_device_names(const std::vector<std::string>& names, std::string_view where);

}  // namespace vcap::detail
