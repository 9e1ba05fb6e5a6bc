// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vcap::detail {

/// Throws DeviceError (unknown_device) where a name is not of the form KIND:NUMBER or stands there
/// twice; `where` begins the message and says who gave the list.
void check_device_names(const std::vector<std::string>& names, std::string_view where);

}  // namespace vcap::detail
