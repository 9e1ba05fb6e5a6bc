// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "vcap/sources/source.hpp"

namespace vcap {

/// The options with which a recorded file is opened again, without those that do not change its
/// frames. source_options_from_json() throws InvalidArgument (invalid_json).
nlohmann::json source_options_to_json(const SourceOptions& options);
SourceOptions source_options_from_json(const nlohmann::json& json);

}  // namespace vcap
