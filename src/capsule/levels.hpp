// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap::detail {

/// The most levels of nodes, the first included, and of lists and objects in extra data, the extra
/// data included. Whoever copies, writes or destroys more of them exhausts the stack.
inline constexpr std::size_t kMostLevels = 64;

/// Whether the value has more levels of lists and objects. Itself goes no deeper. Thread-safe.
VCAP_EXPORT bool has_more_levels(const nlohmann::json& value, std::size_t levels = kMostLevels);
/// Whether nodes or their extra data have more than kMostLevels. Thread-safe.
VCAP_EXPORT bool has_more_levels(const DetectionNodes& nodes);

}  // namespace vcap::detail
