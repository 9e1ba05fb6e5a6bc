// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
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
/// Throws UsageError, OptionError, and InvalidArgument (invalid_config) for a config that one of
/// them does not take.
CapsuleSettings read_settings(const std::vector<CapsuleInfo>& capsules,
                              const std::vector<std::string>& options,
                              const std::vector<std::string>& configs);

/// What the command line says of single streams, as it stands there.
struct StreamArguments {
  std::vector<std::string> options{};   ///< "stream:capsule.name=value"
  std::vector<std::string> capsules{};  ///< "stream=capsule,capsule"
  std::vector<std::string> configs{};   ///< "[stream:]capsule=JSON" or "[stream:]capsule=@file"
};

/// What the command line sets for one stream alone.
struct StreamSettings {
  std::map<std::string, OptionValues> options{};       ///< those for all streams included
  std::optional<std::vector<std::string>> capsules{};  ///< absent: all
  std::map<std::string, nlohmann::json> config{};      ///< those for all streams included
};

/// Reads them, by stream. Throws UsageError and OptionError.
std::map<std::string, StreamSettings> read_stream_settings(const std::vector<std::string>& streams,
                                                           const std::vector<CapsuleInfo>& capsules,
                                                           const CapsuleSettings& settings,
                                                           const StreamArguments& arguments);

/// That each stream has a config that each of `capsules`, so far as it goes through them, takes.
/// Throws InvalidArgument (invalid_config).
void check_stream_configs(const std::map<std::string, StreamSettings>& streams,
                          const std::vector<CapsuleInfo>& capsules);

}  // namespace vcap::cli
