// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap::detail {

/// Checks a schema of CapsuleInfo, which is its field `name`; null passes. Throws InvalidArgument
/// (invalid_json), which names the wrong place by its JSON pointer, such as
/// /config_schema/properties/line/minimum, where expanded_schema() does, where it takes no object,
/// or where one of its defaults does not fit. Thread-safe.
VCAP_EXPORT void check_config_schema(const nlohmann::json& schema, const std::string& name);

/// The config given at load, with the schema's defaults where it says nothing: in objects, those
/// in arrays included; within a default, in objects alone. Throws InvalidArgument (invalid_config)
/// which tells of all wrong values by their JSON pointers. `info` has passed check(). Thread-safe.
VCAP_EXPORT nlohmann::json completed_config(const CapsuleInfo& info, nlohmann::json config);

/// The same of a stream's config. Throws also where it says something to a stateless capsule.
VCAP_EXPORT nlohmann::json completed_stream_config(const CapsuleInfo& info, nlohmann::json config,
                                                   const std::string& stream);

}  // namespace vcap::detail
