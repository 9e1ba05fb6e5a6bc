// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// The value of an option; its declaration determines the type.
using OptionValue = std::variant<double, std::int64_t, bool, std::string>;

/// A finite number between inclusive bounds; an absent bound means no limit. Accepts whole numbers
/// too.
struct FloatOption {
  double default_value = 0;
  std::optional<double> min{};
  std::optional<double> max{};
  std::string description{};
  bool operator==(const FloatOption&) const = default;
};

/// A whole number between inclusive bounds; an absent bound means no limit.
struct IntOption {
  std::int64_t default_value = 0;
  std::optional<std::int64_t> min{};
  std::optional<std::int64_t> max{};
  std::string description{};
  bool operator==(const IntOption&) const = default;
};

/// True or false.
struct BoolOption {
  bool default_value = false;
  std::string description{};
  bool operator==(const BoolOption&) const = default;
};

/// One word of a list.
struct EnumOption {
  std::string default_value{};
  std::vector<std::string> choices{};
  std::string description{};
  bool operator==(const EnumOption&) const = default;
};

/// Any text.
struct TextOption {
  std::string default_value{};
  std::string description{};
  bool operator==(const TextOption&) const = default;
};

/// A setting of a capsule that may change from frame to frame. Thread safety: value.
using Option = std::variant<FloatOption, IntOption, BoolOption, EnumOption, TextOption>;
/// A capsule's options by name.
using Options = std::map<std::string, Option>;

/// The default in the option's declaration.
VCAP_EXPORT OptionValue default_value(const Option& option);

/// Returns the value in the option's own type (a whole number for a FloatOption becomes a double);
/// throws OptionError (option_type, option_range). `name` appears in messages, such as `option
/// "threshold" of capsule detector_person`.
VCAP_EXPORT OptionValue check_value(const Option& option, OptionValue value, std::string_view name);

/// Throws OptionError (invalid_option_declaration) if the lower bound is above the upper one, a
/// list of choices is empty or repeats one, or the default is not allowed.
VCAP_EXPORT void check_declaration(const Option& option, std::string_view name);

/// The option as JSON Schema (draft 2020-12) with title and description, for generated UIs:
/// {"type":"number","title":"Threshold","description":…,"default":…,"minimum":…,"maximum":…}.
VCAP_EXPORT nlohmann::json option_schema(std::string_view name, const Option& option);
/// The schema of one object with all options; it allows no unknown properties.
VCAP_EXPORT nlohmann::json options_schema(const Options& options);

/// `threshold`: the minimum confidence of a detection, 0…1, 0.5 by default.
VCAP_EXPORT Options common_detector_options();

/// {"kind":"float","default":…,…}, the form in the manifest. option_from_json throws
/// InvalidArgument (invalid_json) that names the wrong field; it does not check the declaration.
VCAP_EXPORT nlohmann::json option_to_json(const Option& option);
VCAP_EXPORT Option option_from_json(const nlohmann::json& json);

}  // namespace vcap
