// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/option.hpp"

namespace vcap {

namespace detail {

/// An integer type that holds numbers: not bool, and no type of characters.
template <class T>
concept NumberInteger = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                        !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                        !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// Whether OptionValues::get() reads T.
template <class T>
concept ReadableOption = NumberInteger<T> || std::same_as<T, double> || std::same_as<T, bool> ||
    std::same_as<T, std::string>;

}  // namespace detail

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

  const Options& declared() const& noexcept;
  Options declared() && { return declared(); }
  bool contains(std::string_view name) const;

  /// The value of one option. T is double for a FloatOption, any integer type for an IntOption,
  /// bool for a BoolOption, std::string for an EnumOption or a TextOption. Texts are given as a
  /// reference, of a temporary as a copy. Throws OptionError: unknown_option, option_type, or
  /// option_range if a whole number does not fit into T.
  template <class T>
  decltype(auto) get(std::string_view name) const& {
    static_assert(detail::ReadableOption<T>,
                  "get<T>() reads an option as double, bool, std::string or an integer type; for a "
                  "float read a double, and for other text a std::string");
    if constexpr (std::same_as<T, double>) {
      return number(name);
    } else if constexpr (std::same_as<T, bool>) {
      return truth(name);
    } else if constexpr (detail::NumberInteger<T>) {
      const std::int64_t value = whole_number(name);
      if (!std::in_range<T>(value))
        refuse_narrow(name, value, static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                      static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
      return static_cast<T>(value);
    } else {
      return text(name);
    }
  }
  template <class T>
  T get(std::string_view name) && {
    return static_cast<const OptionValues&>(*this).get<T>(name);
  }
  const OptionValue& get(std::string_view name) const&;
  OptionValue get(std::string_view name) && { return get(name); }

  /// Throws OptionError (unknown_option, option_type, option_range) and then changes nothing.
  void set(std::string_view name, OptionValue value);
  /// Sets a whole number of any width.
  template <detail::NumberInteger T>
  void set(std::string_view name, T value) {
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
  double number(std::string_view name) const;
  std::int64_t whole_number(std::string_view name) const;
  bool truth(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  /// T is an alternative of OptionValue.
  template <class T>
  const T& held(std::string_view name) const;
  [[noreturn]] void refuse_unknown(std::string_view name) const;
  [[noreturn]] void refuse_width(std::string_view name, std::uint64_t value) const;
  [[noreturn]] void refuse_narrow(std::string_view name, std::int64_t value, std::int64_t least,
                                  std::uint64_t greatest) const;

  std::shared_ptr<const Declaration> declaration_;
  std::map<std::string, OptionValue, std::less<>> values_;
};

/// {"threshold":0.5,…}. There is no from_json: values are merged into declared options.
VCAP_EXPORT void to_json(nlohmann::json& json, const OptionValues& values);

}  // namespace vcap
