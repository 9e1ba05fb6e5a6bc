// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/json_readers.hpp"
#include "vcap/model/option.hpp"

namespace vcap {
namespace {

/// The JSON words for each type of option: `kind` in a manifest, `type` in JSON Schema.
template <class T>
struct Words;
template <>
struct Words<FloatOption> {
  static constexpr const char* kind = "float";
  static constexpr const char* type = "number";
};
template <>
struct Words<IntOption> {
  static constexpr const char* kind = "int";
  static constexpr const char* type = "integer";
};
template <>
struct Words<BoolOption> {
  static constexpr const char* kind = "bool";
  static constexpr const char* type = "boolean";
};
template <>
struct Words<EnumOption> {
  static constexpr const char* kind = "enum";
  static constexpr const char* type = "string";
};
template <>
struct Words<TextOption> {
  static constexpr const char* kind = "text";
  static constexpr const char* type = "string";
};

template <class T>
constexpr bool has_bounds = std::is_same_v<T, FloatOption> || std::is_same_v<T, IntOption>;

/// "scale_frame" becomes "Scale frame".
std::string title_of(std::string_view name) {
  std::string title(name);
  std::replace(title.begin(), title.end(), '_', ' ');
  if (!title.empty()) {
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  }
  return title;
}

/// Writes what a manifest and a schema have in common; only the names of the bounds differ.
template <class T>
void write_common(nlohmann::json& json, const T& option, const char* min, const char* max,
                  const char* choices) {
  json["default"] = option.default_value;
  if (!option.description.empty()) json["description"] = option.description;
  if constexpr (has_bounds<T>) {
    if (option.min) json[min] = *option.min;
    if (option.max) json[max] = *option.max;
  }
  if constexpr (std::is_same_v<T, EnumOption>) json[choices] = option.choices;
}

double read_as(const JsonView& json, double) { return json.number(); }
std::int64_t read_as(const JsonView& json, std::int64_t) { return json.integer(); }
bool read_as(const JsonView& json, bool) { return json.boolean(); }
const std::string& read_as(const JsonView& json, const std::string&) { return json.text(); }

template <class T>
Option read_fields(const JsonView& json) {
  T option;
  option.default_value = read_as(json["default"], option.default_value);
  if (const auto description = json.find("description")) option.description = description->text();
  if constexpr (has_bounds<T>) {
    if (const auto min = json.find("min")) option.min = read_as(*min, option.default_value);
    if (const auto max = json.find("max")) option.max = read_as(*max, option.default_value);
  }
  if constexpr (std::is_same_v<T, EnumOption>) option.choices = json["choices"].texts();
  return option;
}

}  // namespace

nlohmann::json option_schema(std::string_view name, const Option& option) {
  nlohmann::json schema = {{"title", title_of(name)}};
  std::visit(
      [&]<class T>(const T& held) {
        schema["type"] = Words<T>::type;
        write_common(schema, held, "minimum", "maximum", "enum");
      },
      option);
  return schema;
}

nlohmann::json options_schema(const Options& options) {
  nlohmann::json properties = nlohmann::json::object();
  for (const auto& [name, option] : options) properties[name] = option_schema(name, option);
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"additionalProperties", false}};
}

nlohmann::json option_to_json(const Option& option) {
  nlohmann::json json;
  std::visit(
      [&]<class T>(const T& held) {
        json["kind"] = Words<T>::kind;
        write_common(json, held, "min", "max", "choices");
      },
      option);
  return json;
}

Option read_option(const JsonView& json) {
  const JsonView kind = json["kind"];
  const std::string& word = kind.text();
  if (word == Words<FloatOption>::kind) return read_fields<FloatOption>(json);
  if (word == Words<IntOption>::kind) return read_fields<IntOption>(json);
  if (word == Words<BoolOption>::kind) return read_fields<BoolOption>(json);
  if (word == Words<EnumOption>::kind) return read_fields<EnumOption>(json);
  if (word == Words<TextOption>::kind) return read_fields<TextOption>(json);
  kind.fail(R"("float", "int", "bool", "enum" or "text")");
}

Option option_from_json(const nlohmann::json& json) { return read_option(JsonView(json)); }

}  // namespace vcap
