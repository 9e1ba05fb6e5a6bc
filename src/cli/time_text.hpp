// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vcap::cli {

/// A time as M:SS, or H:MM:SS from an hour on.
std::string time_text(double seconds);

/// The date and time of the wall clock, with the zone.
std::string now_text();

}  // namespace vcap::cli
