// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/capsule/capsule_info.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap::cli {

/// What the command line sets for capsules, by their names; absent if it sets nothing.
struct CapsuleSettings {
  std::map<std::string, OptionValues> options;
  std::map<std::string, JsonValue> config;
  std::map<std::string, Stencil> stencils{};
  std::map<std::string, std::size_t> max_calls{};

  /// Sets the config and the stencil of that capsule, if there are some.
  void apply_to(LoadOptions& load, const std::string& capsule) const;
};

/// Reads "capsule.name=value" and "capsule=JSON" or "capsule=@file" for the capsules described.
/// Throws UsageError, OptionError, and InvalidArgument (invalid_config) if a capsule does not
/// accept its config.
CapsuleSettings read_settings(const std::vector<CapsuleInfo>& capsules,
                              const std::vector<std::string>& options,
                              const std::vector<std::string>& configs);

/// Reads "capsule=offset,offset" or "capsule=offset,offset:edge" into `settings`. Without an edge,
/// the capsule's own stays. Throws UsageError, also if a capsule has no stencil.
void read_stencils(const std::vector<CapsuleInfo>& capsules,
                   const std::vector<std::string>& stencils, CapsuleSettings& settings);

/// Reads "capsule=number" into `settings`. Throws UsageError.
void read_max_calls(const std::vector<CapsuleInfo>& capsules,
                    const std::vector<std::string>& max_calls, CapsuleSettings& settings);

/// The command line's arguments for single streams, unparsed.
struct StreamArguments {
  std::vector<std::string> options{};   ///< "stream:capsule.name=value"
  std::vector<std::string> capsules{};  ///< "stream=capsule,capsule"
  std::vector<std::string> configs{};   ///< "[stream:]capsule=JSON" or "[stream:]capsule=@file"
};

/// What the command line sets for one stream.
struct StreamSettings {
  std::map<std::string, OptionValues> options{};       ///< including those for all streams
  std::optional<std::vector<std::string>> capsules{};  ///< absent: all
  std::map<std::string, JsonValue> config{};           ///< including those for all streams
};

/// Reads them, by stream. Throws UsageError and OptionError.
std::map<std::string, StreamSettings> read_stream_settings(const std::vector<std::string>& streams,
                                                           const std::vector<CapsuleInfo>& capsules,
                                                           const CapsuleSettings& settings,
                                                           const StreamArguments& arguments);

/// What the command line sets for a stream that is added later: what it sets for all. Throws
/// UsageError and OptionError.
StreamSettings settings_of_added_stream(const std::string& id,
                                        const std::vector<CapsuleInfo>& capsules,
                                        const CapsuleSettings& settings,
                                        const StreamArguments& arguments);

/// Checks that each stream has a valid config for each of `capsules` that it goes through. Throws
/// InvalidArgument (invalid_config).
void check_stream_configs(const std::map<std::string, StreamSettings>& streams,
                          const std::vector<CapsuleInfo>& capsules);

}  // namespace vcap::cli
