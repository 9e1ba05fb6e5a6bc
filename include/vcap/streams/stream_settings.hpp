// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/base/json_value.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap {

/// What holds for a stream's next frame in one of its capsules. Thread safety: value.
struct CapsuleSettings {
  std::string name{};
  int version = 0;
  OptionValues options{};  ///< with the options that the capsule declares
  /// StreamConfig::config of the capsule, or what Pipeline::set_config() gave it since; with the
  /// schema's defaults.
  JsonValue config = JsonValue::object();
  JsonValue config_schema{};  ///< CapsuleInfo::stream_config_schema; null if there is none
  bool takes_config = false;  ///< it has a stream state or stream parameters
};

/// The present settings of a stream, as for a form that changes them. Thread safety: value.
struct StreamSettings {
  std::string id{};
  std::vector<CapsuleSettings> capsules{};  ///< those of the stream, in the order of the plan
  bool options_can_change = true;           ///< Pipeline::set_option() does not refuse the stream
  bool configs_can_change = true;           ///< Pipeline::set_config() does not refuse the stream
};

}  // namespace vcap
