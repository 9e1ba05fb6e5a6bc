// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/option.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::string text_of(double value) { return number_text(value); }
std::string text_of(std::int64_t value) { return std::to_string(value); }

/// `1.7`, `true` or `"text"`.
std::string value_text(const OptionValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>)
          return held ? "true" : "false";
        else if constexpr (std::is_same_v<Held, std::string>)
          return quote(held);
        else
          return text_of(held);
      },
      value);
}

[[noreturn]] void refuse_type(std::string_view lead, const OptionValue& value,
                              std::string_view needed) {
  throw OptionError(ErrorCode::option_type,
                    std::string(lead) + value_text(value) + " is not " + std::string(needed));
}

[[noreturn]] void refuse_range(std::string_view lead, const OptionValue& value,
                               const std::string& allowed) {
  throw OptionError(ErrorCode::option_range,
                    std::string(lead) + value_text(value) + " is not " + allowed);
}

template <class Number>
void check_range(Number value, const std::optional<Number>& min, const std::optional<Number>& max,
                 std::string_view lead) {
  if ((!min || value >= *min) && (!max || value <= *max)) return;
  if (min && max) refuse_range(lead, value, "within " + text_of(*min) + " to " + text_of(*max));
  refuse_range(lead, value, min ? "at least " + text_of(*min) : "at most " + text_of(*max));
}

/// One overload for each type of option; each returns the value in the option's own type. Messages
/// have `lead` before the value.
struct ValueCheck {
  OptionValue value;
  std::string lead;

  OptionValue operator()(const FloatOption& option) const {
    double number = 0;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      number = static_cast<double>(*whole);
    } else if (const auto* given = std::get_if<double>(&value)) {
      number = *given;
    } else {
      refuse_type(lead, value, "a number");
    }
    if (!std::isfinite(number)) refuse_range(lead, number, "a finite number");
    check_range(number, option.min, option.max, lead);
    return number;
  }

  OptionValue operator()(const IntOption& option) const {
    const auto* whole = std::get_if<std::int64_t>(&value);
    if (!whole) refuse_type(lead, value, "a whole number");
    check_range(*whole, option.min, option.max, lead);
    return value;
  }

  OptionValue operator()(const BoolOption&) const {
    if (!std::holds_alternative<bool>(value)) refuse_type(lead, value, "true or false");
    return value;
  }

  OptionValue operator()(const EnumOption& option) const {
    const auto* word = std::get_if<std::string>(&value);
    if (!word) refuse_type(lead, value, "one of the words " + quote_list(option.choices));
    const auto& choices = option.choices;
    if (std::find(choices.begin(), choices.end(), *word) == choices.end()) {
      refuse_range(lead, value, "one of " + quote_list(choices) + suggestion(*word, choices));
    }
    return value;
  }

  OptionValue operator()(const TextOption&) const {
    if (!std::holds_alternative<std::string>(value)) refuse_type(lead, value, "text");
    return value;
  }
};

[[noreturn]] void refuse_declaration(std::string_view name, const std::string& what) {
  throw OptionError(ErrorCode::invalid_option_declaration, std::string(name) + ": " + what);
}

template <class NumberOption>
void check_bounds(const NumberOption& option, std::string_view name) {
  for (const auto& bound : {option.min, option.max}) {
    if (bound && !std::isfinite(static_cast<double>(*bound))) {
      refuse_declaration(name, "the bound " + text_of(*bound) +
                                   " is not a finite number; leave it out for no bound");
    }
  }
  if (option.min && option.max && *option.min > *option.max) {
    refuse_declaration(name, "its minimum " + text_of(*option.min) + " is above its maximum " +
                                 text_of(*option.max));
  }
}

void check_choices(const EnumOption& option, std::string_view name) {
  if (option.choices.empty()) refuse_declaration(name, "it has no choices; give at least one");
  std::set<std::string_view> seen;
  for (const std::string& choice : option.choices) {
    if (!seen.insert(choice).second) {
      refuse_declaration(name, "its choice " + quote(choice) + " occurs twice");
    }
  }
}

}  // namespace

OptionValue default_value(const Option& option) {
  return std::visit([](const auto& held) -> OptionValue { return held.default_value; }, option);
}

OptionValue check_value(const Option& option, OptionValue value, std::string_view name) {
  return std::visit(ValueCheck{std::move(value), std::string(name) + ": "}, option);
}

void check_declaration(const Option& option, std::string_view name) {
  if (const auto* number = std::get_if<FloatOption>(&option)) check_bounds(*number, name);
  if (const auto* whole = std::get_if<IntOption>(&option)) check_bounds(*whole, name);
  if (const auto* word = std::get_if<EnumOption>(&option)) check_choices(*word, name);
  try {
    std::visit(ValueCheck{default_value(option), std::string(name) + ": its default "}, option);
  } catch (const OptionError& error) {
    throw OptionError(ErrorCode::invalid_option_declaration, error.what());
  }
}

Options common_detector_options() {
  return {{"threshold", FloatOption{.default_value = 0.5,
                                    .min = 0.0,
                                    .max = 1.0,
                                    .description = "The minimum confidence that a detection must "
                                                   "have to be kept."}}};
}

}  // namespace vcap
