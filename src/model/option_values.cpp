// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/option_values.hpp"

#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/json_view.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

[[noreturn]] void refuse_type(const std::string& label, const std::string& given,
                              std::string_view needed) {
  throw OptionError(ErrorCode::option_type,
                    label + ": " + given + " is not " + std::string(needed));
}

[[noreturn]] void refuse_width(const std::string& label, const std::string& given) {
  throw OptionError(ErrorCode::option_range,
                    label + ": " + given + " does not fit into a 64-bit number");
}

template <class Number>
Number number_from_text(std::string_view text, const std::string& label, std::string_view needed) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole_text = end == text.data() + text.size();
  if (error == std::errc::result_out_of_range && whole_text) refuse_width(label, quote(text));
  if (error != std::errc() || !whole_text) refuse_type(label, quote(text), needed);
  return number;
}

OptionValue value_from_text(const Option& option, std::string_view text, const std::string& label) {
  if (std::holds_alternative<FloatOption>(option)) {
    return number_from_text<double>(text, label, "a number, such as 0.5");
  }
  if (std::holds_alternative<IntOption>(option)) {
    return number_from_text<std::int64_t>(text, label, "a whole number");
  }
  if (std::holds_alternative<BoolOption>(option)) {
    if (text != "true" && text != "false") refuse_type(label, quote(text), "true or false");
    return text == "true";
  }
  return std::string(text);
}

/// JSON Schema calls 3.0 an integer, so a UI built from the schema may give it; it is accepted.
OptionValue value_from_float(const Option& option, double number, const std::string& label) {
  constexpr double limit = 9223372036854775808.0;  // 2^63, the first that does not fit
  if (!std::holds_alternative<IntOption>(option) || std::trunc(number) != number) return number;
  if (number < -limit || number >= limit) refuse_width(label, number_text(number));
  return static_cast<std::int64_t>(number);
}

OptionValue value_from_json(const Option& option, const nlohmann::json& json,
                            const std::string& label) {
  switch (json.type()) {
    case nlohmann::json::value_t::boolean:
      return json.get<bool>();
    case nlohmann::json::value_t::string:
      return json.get<std::string>();
    case nlohmann::json::value_t::number_integer:
      return json.get<std::int64_t>();
    case nlohmann::json::value_t::number_float:
      return value_from_float(option, json.get<double>(), label);
    case nlohmann::json::value_t::number_unsigned:
      if (std::in_range<std::int64_t>(json.get<std::uint64_t>())) return json.get<std::int64_t>();
      if (std::holds_alternative<FloatOption>(option)) return json.get<double>();
      refuse_width(label, brief(json));
    default:
      refuse_type(label, brief(json), "a number, true, false or text");
  }
}

/// The names of an option's value type, for messages.
std::string_view type_text(const OptionValue& value) {
  constexpr std::string_view texts[] = {"a number (double)", "a whole number (std::int64_t)",
                                        "true or false (bool)", "text (std::string)"};
  return texts[value.index()];
}

}  // namespace

struct OptionValues::Declaration {
  Options options;
  std::string owner;
};

OptionValues::OptionValues() = default;

OptionValues::OptionValues(Options declared, std::string owner)
    : declaration_(
          std::make_shared<const Declaration>(Declaration{std::move(declared), std::move(owner)})) {
  for (const auto& [name, option] : declaration_->options) {
    const std::string label_text = label(name);
    check_declaration(option, label_text);
    values_.emplace(name, check_value(option, default_value(option), label_text));
  }
}

const Options& OptionValues::declared() const& noexcept {
  static const Options nothing;
  return declaration_ ? declaration_->options : nothing;
}

bool OptionValues::contains(std::string_view name) const { return values_.contains(name); }

std::string OptionValues::label(std::string_view name) const {
  std::string text = "option " + quote(name);
  if (declaration_ && !declaration_->owner.empty()) text += " of " + declaration_->owner;
  return text;
}

void OptionValues::refuse_unknown(std::string_view name) const {
  std::vector<std::string_view> known;
  for (const auto& [known_name, value] : values_) known.emplace_back(known_name);
  const std::string remedy = known.empty()
                                 ? "there are no options"
                                 : "the options are " + quote_list(known) + suggestion(name, known);
  throw OptionError(ErrorCode::unknown_option, label(name) + " is unknown; " + remedy);
}

void OptionValues::refuse_width(std::string_view name, std::uint64_t value) const {
  vcap::refuse_width(label(name), std::to_string(value));
}

void OptionValues::refuse_narrow(std::string_view name, std::int64_t value, std::int64_t least,
                                 std::uint64_t greatest) const {
  throw OptionError(ErrorCode::option_range,
                    label(name) + " is " + std::to_string(value) +
                        ", which does not fit into the type that it was read as, " +
                        std::to_string(least) + " to " + std::to_string(greatest) +
                        "; read it as std::int64_t, or declare narrower bounds");
}

const Option& OptionValues::find(std::string_view name) const {
  if (!contains(name)) refuse_unknown(name);
  return declared().find(std::string(name))->second;
}

const OptionValue& OptionValues::get(std::string_view name) const& {
  const auto it = values_.find(name);
  if (it == values_.end()) refuse_unknown(name);
  return it->second;
}

template <class T>
const T& OptionValues::held(std::string_view name) const {
  const OptionValue& value = get(name);
  if (const T* const own = std::get_if<T>(&value)) return *own;
  throw OptionError(ErrorCode::option_type,
                    label(name) + " holds " + std::string(type_text(value)) + ", but was read as " +
                        std::string(type_text(OptionValue(T{}))));
}

double OptionValues::number(std::string_view name) const { return held<double>(name); }

std::int64_t OptionValues::whole_number(std::string_view name) const {
  return held<std::int64_t>(name);
}

bool OptionValues::truth(std::string_view name) const { return held<bool>(name); }

const std::string& OptionValues::text(std::string_view name) const {
  return held<std::string>(name);
}

void OptionValues::set(std::string_view name, OptionValue value) {
  OptionValue checked = check_value(find(name), std::move(value), label(name));
  values_.find(name)->second = std::move(checked);
}

void OptionValues::set_from_text(std::string_view name, std::string_view text) {
  set(name, value_from_text(find(name), text, label(name)));
}

void OptionValues::merge(const nlohmann::json& object) {
  if (!object.is_object()) {
    const bool owned = declaration_ && !declaration_->owner.empty();
    throw InvalidArgument(ErrorCode::invalid_json,
                          (owned ? "options of " + declaration_->owner : std::string("options")) +
                              ": an object of names and values is needed, but it is " +
                              brief(object));
  }
  OptionValues merged = *this;
  for (const auto& [name, value] : object.items()) {
    try {
      merged.set(name, value_from_json(find(name), value, label(name)));
    } catch (const OptionError& error) {
      throw OptionError(error.code(),
                        (nlohmann::json::json_pointer() / name).to_string() + ": " + error.what());
    }
  }
  *this = std::move(merged);
}

bool OptionValues::operator==(const OptionValues& other) const {
  return declared() == other.declared() && values_ == other.values_;
}

void to_json(nlohmann::json& json, const OptionValues& values) {
  json = nlohmann::json::object();
  for (const auto& [name, option] : values.declared()) {
    std::visit([&, &key = name](const auto& held) { json[key] = held; }, values.get(name));
  }
}

}  // namespace vcap
