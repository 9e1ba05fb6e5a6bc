// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap::detail {

/// Checks a schema of CapsuleInfo, which is its field `name`; null is accepted. Throws
/// InvalidArgument (invalid_json), which names the wrong place by its JSON pointer, such as
/// /config_schema/properties/line/minimum. It throws if expanded_schema() does, if the schema
/// accepts no object, or if one of its defaults does not fit. Thread-safe.
void check_config_schema(const nlohmann::json& schema, const std::string& name);

/// The config given at load, completed with the schema's defaults: in objects, including those in
/// arrays; within a default, only in objects. Throws InvalidArgument (invalid_config), which lists
/// wrong values by their JSON pointers. `info` must have passed check(). Thread-safe.
VCAP_EXPORT nlohmann::json completed_config(const CapsuleInfo& info, nlohmann::json config);

/// The same for a stream's config. Also throws if a capsule without stream state and stream
/// parameters gets a config that is not empty.
VCAP_EXPORT nlohmann::json completed_stream_config(const CapsuleInfo& info, nlohmann::json config,
                                                   const std::string& stream);

}  // namespace vcap::detail
