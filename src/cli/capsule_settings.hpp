// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/capsule/capsule_info.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap::cli {

/// What the command line sets for capsules, by their names; absent where it sets nothing.
struct CapsuleSettings {
  std::map<std::string, OptionValues> options;
  std::map<std::string, nlohmann::json> config;
};

/// Reads "capsule.name=value" and "capsule=JSON" or "capsule=@file" for the capsules described.
/// Throws UsageError and OptionError.
CapsuleSettings read_settings(const std::vector<CapsuleInfo>& capsules,
                              const std::vector<std::string>& options,
                              const std::vector<std::string>& configs);

}  // namespace vcap::cli
