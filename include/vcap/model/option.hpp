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

/// The value of an option, of the type that its declaration has.
using OptionValue = std::variant<double, std::int64_t, bool, std::string>;

/// A finite number between inclusive bounds; an absent bound does not bind. Takes whole numbers
/// too.
struct FloatOption {
  double default_value = 0;
  std::optional<double> min{};
  std::optional<double> max{};
  std::string description{};
  bool operator==(const FloatOption&) const = default;
};

/// A whole number between inclusive bounds; an absent bound does not bind.
struct IntOption {
  std::int64_t default_value = 0;
  std::optional<std::int64_t> min{};
  std::optional<std::int64_t> max{};
  std::string description{};
  bool operator==(const IntOption&) const = default;
};

struct BoolOption {
  bool default_value = false;
  std::string description{};
  bool operator==(const BoolOption&) const = default;
};

/// One out of a list of words.
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

/// What a capsule lets its users set, frame by frame. Thread safety: value.
using Option = std::variant<FloatOption, IntOption, BoolOption, EnumOption, TextOption>;
/// A capsule's options by name.
using Options = std::map<std::string, Option>;

/// The value that holds where none is set.
VCAP_EXPORT OptionValue default_value(const Option& option);

/// Gives the value back in the option's own type (a whole number for a FloatOption becomes a
/// double); throws OptionError (option_type, option_range). `name` stands in messages, such as
/// `option "threshold" of capsule detector_person`.
VCAP_EXPORT OptionValue check_value(const Option& option, OptionValue value, std::string_view name);

/// Throws OptionError (invalid_option_declaration) where bounds are the wrong way round, a list
/// of choices is empty or has one twice, or the default is not allowed.
VCAP_EXPORT void check_declaration(const Option& option, std::string_view name);

/// The option as JSON Schema (draft 2020-12) with title and description, for generated UIs:
/// {"type":"number","title":"Threshold","description":…,"default":…,"minimum":…,"maximum":…}.
VCAP_EXPORT nlohmann::json option_schema(std::string_view name, const Option& option);
/// All options as the schema of one object, unknown properties refused.
VCAP_EXPORT nlohmann::json options_schema(const Options& options);

/// `threshold`: the least confidence of a detection, 0…1, 0.5 by default.
VCAP_EXPORT Options common_detector_options();

/// {"kind":"float","default":…,…} as the manifest writes it. option_from_json throws
/// InvalidArgument (invalid_json) naming the wrong field; it does not check the declaration.
VCAP_EXPORT nlohmann::json option_to_json(const Option& option);
VCAP_EXPORT Option option_from_json(const nlohmann::json& json);

}  // namespace vcap
