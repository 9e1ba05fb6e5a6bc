// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/option.hpp"

namespace vcap {

/// A value for every option of one capsule; each fits its declaration.
///
/// Capsule::default_options() makes it, the host changes it, and the capsule reads it. Every new
/// value is checked at once. Thread safety: value (copies share the declaration).
class VCAP_EXPORT OptionValues {
 public:
  /// For a capsule without options.
  OptionValues();
  /// Every option at its default. `owner` appears in messages, such as "capsule detector_person".
  /// Throws OptionError (invalid_option_declaration).
  explicit OptionValues(Options declared, std::string owner = {});

  const Options& declared() const noexcept;
  bool contains(std::string_view name) const;

  /// The value of one option; throws OptionError (unknown_option, option_type). T is double,
  /// std::int64_t, bool or std::string.
  template <class T>
  const T& get(std::string_view name) const;
  const OptionValue& get(std::string_view name) const;

  /// Throws OptionError (unknown_option, option_type, option_range) and then changes nothing.
  void set(std::string_view name, OptionValue value);
  /// Sets a whole number of any width.
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) void set(std::string_view name,
                                                                      T value) {
    if (!std::in_range<std::int64_t>(value)) refuse_width(name, static_cast<std::uint64_t>(value));
    set(name, OptionValue(static_cast<std::int64_t>(value)));
  }
  /// Sets text of any type; without this overload, a literal would become a bool.
  template <std::convertible_to<std::string_view> T>
  void set(std::string_view name, const T& text) {
    set(name, OptionValue(std::string(std::string_view(text))));
  }
  /// Parses the whole of `text` by the option's type, as on a command line: `0.7`, `12`, `true` or
  /// `false`, a choice, any text. Throws like set().
  void set_from_text(std::string_view name, std::string_view text);
  /// Sets every name in the JSON object. Throws like set(), with the value's JSON pointer before
  /// the message, or InvalidArgument (invalid_json) if it is not an object; then nothing has
  /// changed. A whole number may be written 3.0, as JSON Schema allows.
  void merge(const nlohmann::json& object);

  /// Compares options and values; the owner does not matter.
  bool operator==(const OptionValues& other) const;

 private:
  struct Declaration;
  const Option& find(std::string_view name) const;
  std::string label(std::string_view name) const;
  template <class T>
  const T& get_as(std::string_view name) const;
  [[noreturn]] void refuse_unknown(std::string_view name) const;
  [[noreturn]] void refuse_width(std::string_view name, std::uint64_t value) const;

  std::shared_ptr<const Declaration> declaration_;
  std::map<std::string, OptionValue, std::less<>> values_;
};

template <>
VCAP_EXPORT const double& OptionValues::get<double>(std::string_view name) const;
template <>
VCAP_EXPORT const std::int64_t& OptionValues::get<std::int64_t>(std::string_view name) const;
template <>
VCAP_EXPORT const bool& OptionValues::get<bool>(std::string_view name) const;
template <>
VCAP_EXPORT const std::string& OptionValues::get<std::string>(std::string_view name) const;

/// {"threshold":0.5,…}. There is no from_json: values are merged into declared options.
VCAP_EXPORT void to_json(nlohmann::json& json, const OptionValues& values);

}  // namespace vcap
