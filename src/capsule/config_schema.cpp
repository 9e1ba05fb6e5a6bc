// SPDX-License-Identifier: Apache-2.0
#include "capsule/config_schema.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/text.hpp"
#include "capsule/describe_schema.hpp"
#include "capsule/levels.hpp"
#include "capsule/schema_expansion.hpp"
#include "model/json_view.hpp"
#include "vcap/base/error.hpp"

namespace vcap::detail {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

constexpr std::size_t kMostTold = 20;

/// The schema of the member of `value` with this name or index.
const json* step_into(const json& schema, const json& value, const std::string& token) {
  const auto at = [&schema](const char* keyword) {
    const auto found = schema.find(keyword);
    return found == schema.end() ? nullptr : &*found;
  };
  if (value.is_object()) {
    const json* const properties = at("properties");
    return properties && properties->contains(token) ? &properties->at(token)
                                                     : at("additionalProperties");
  }
  const json* const items = at("items");
  if (!items || !items->is_array()) return items;
  const std::size_t index = std::stoul(token);
  return index < items->size() ? &(*items)[index] : at("additionalItems");
}

/// Fills in defaults for missing members. `is_given`: the value comes from the host. Arrays within
/// a default are not filled, so that a small schema cannot produce a large config.
void fill(const json& schema, json& value, bool is_given) {
  if (value.is_array() && is_given)
    for (std::size_t i = 0; i < value.size(); ++i)
      if (const json* inner = step_into(schema, value, std::to_string(i)))
        fill(*inner, value[i], true);
  if (!value.is_object()) return;
  if (is_given)
    for (const auto& [name, inner_value] : value.items())
      if (const json* inner = step_into(schema, value, name)) fill(*inner, inner_value, true);
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return;
  for (const auto& [name, inner] : properties->items()) {
    const bool is_there = value.contains(name);
    if (is_there && is_given) continue;
    if (!is_there && !inner.contains("default")) continue;
    if (!is_there) value[name] = inner["default"];
    fill(inner, value[name], false);
  }
}

/// The place of an error: valijson gives `<root>`, then each name or index in brackets.
Pointer place_of(const valijson::ValidationResults::Error& error) {
  Pointer place;
  for (std::size_t i = 1; i < error.context.size(); ++i)
    place.push_back(error.context[i].substr(1, error.context[i].size() - 2));
  return place;
}

/// Whether the error only says that something further inside is wrong; that has its own error.
bool is_summary(const std::string& text) {
  return text.starts_with("Failed to validate") && text.find("exactly one") == text.npos;
}

/// The schema of the value at a place; null if it depends on alternatives or conditions.
const json* schema_at(const json& schema, const json& root, const Pointer& place) {
  const json* at = &schema;
  const json* value = &root;
  std::vector<std::string> tokens;
  for (Pointer rest = place; !rest.empty(); rest.pop_back()) tokens.push_back(rest.back());
  for (auto token = tokens.rbegin(); token != tokens.rend() && at; ++token) {
    at = step_into(*at, *value, *token);
    value = value->is_array() ? &(*value)[std::stoul(*token)] : &value->at(*token);
  }
  return at;
}

bool has_type_of(const json& schema, const json& value) {
  const auto types = schema.find("type");
  if (types == schema.end()) return true;
  const std::string name = value.is_object() ? "object" : "array";
  return types->is_string() ? *types == name
                            : std::ranges::find(*types, json(name)) != types->end();
}

/// Whether describe_schema() covers everything that can be wrong with the value.
bool is_covered_by_words(const json* schema, const json& value) {
  if (!schema) return false;
  if (value.is_structured() && has_type_of(*schema, value) && !schema->contains("const") &&
      !schema->contains("enum") && !takes_nothing(*schema))
    return false;
  return !schema->contains("allOf") && !schema->contains("oneOf") && !schema->contains("if");
}

/// The library's message in the form that can end a sentence: lower case, without a full stop.
std::string lowered(std::string text) {
  text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// The name, if the library says that a property is missing.
std::optional<std::string> missing_property(const std::string& text) {
  constexpr std::string_view kBefore = "Missing required property '";
  if (!text.starts_with(kBefore)) return std::nullopt;
  return text.substr(kBefore.size(), text.rfind('\'') - kBefore.size());
}

std::string fault_text(const json& schema, const json& root, const Pointer& place,
                       const std::string& text) {
  const json& value = root.at(place);
  const json* const own = schema_at(schema, root, place);
  if (const auto name = missing_property(text)) {
    const json* const inner = own ? step_into(*own, value, *name) : nullptr;
    return (place / *name).to_string() + " is missing, but " +
           (is_covered_by_words(inner, nullptr) ? describe_schema(*inner) + " is " : "") + "needed";
  }
  const std::string what = (place.empty() ? "it" : place.to_string()) + " is " + brief(value);
  if (own && takes_nothing(*own)) return what + ", but the schema does not allow anything there";
  if (is_covered_by_words(own, value))
    return what + ", but " + describe_schema(*own) + " is needed";
  return place.empty() ? lowered(text) : what + ": " + lowered(text);
}

/// What is wrong with a value, one text each; empty if it fits. If there are too many, the first
/// ones and "and more".
std::vector<std::string> faults_of(const json& schema, const json& value) {
  valijson::Schema parsed;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), parsed);
  valijson::ValidationResults results;
  if (valijson::Validator().validate(parsed, valijson::adapters::NlohmannJsonAdapter(value),
                                     &results))
    return {};
  std::vector<std::string> faults;
  for (const auto& error : results) {
    if (is_summary(error.description)) continue;
    std::string text = fault_text(schema, value, place_of(error), error.description);
    if (std::ranges::find(faults, text) != faults.end()) continue;
    if (faults.size() == kMostTold) {
      faults.emplace_back("and more");
      break;
    }
    faults.push_back(std::move(text));
  }
  if (faults.empty()) faults.emplace_back("it does not fit its schema");
  return faults;
}

std::string joined(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += (text.empty() ? "" : "; ") + fault;
  return text;
}

/// Checks that a config, which is an object, can fit at all.
void check_takes_objects(const JsonView& schema) {
  const auto types = schema.find("type");
  if (types && !has_type_of(schema.value(), json::object()))
    types->fail("\"object\" (a config is an object)");
}

void check_default(const ExpandedSchema::Default& given) {
  json value = given.schema.at("default");
  fill(given.schema, value, false);
  if (const auto faults = faults_of(given.schema, value); !faults.empty())
    throw InvalidArgument(
        ErrorCode::invalid_json,
        given.place.to_string() + " does not fit the schema around it: " + joined(faults));
}

json completed(const json& schema, json config, const std::string& whose) {
  if (!config.is_object())
    throw InvalidArgument(ErrorCode::invalid_config,
                          whose + " is of JSON type " + config.type_name() + "; give an object");
  if (has_more_levels(config))
    throw InvalidArgument(ErrorCode::invalid_config,
                          whose + " has more than " + std::to_string(kMostLevels) +
                              " levels of lists and objects; give fewer");
  if (schema.is_null()) return config;
  const ExpandedSchema expanded = expanded_schema(JsonView(schema));
  fill(expanded.schema, config, true);
  if (const auto faults = faults_of(expanded.schema, config); !faults.empty())
    throw InvalidArgument(ErrorCode::invalid_config, whose + ": " + joined(faults));
  return config;
}

}  // namespace

void check_config_schema(const json& schema, const std::string& name) {
  if (schema.is_null()) return;
  const JsonView declared(schema, Pointer("/" + name));
  const ExpandedSchema expanded = expanded_schema(declared);
  check_takes_objects(JsonView(expanded.schema, declared.place()));
  for (const ExpandedSchema::Default& given : expanded.defaults) check_default(given);
}

json completed_config(const CapsuleInfo& info, json config) {
  return completed(info.config_schema, std::move(config), "the config of capsule " + info.name);
}

json completed_stream_config(const CapsuleInfo& info, json config, const std::string& stream) {
  const std::string whose = "stream " + stream + "'s config of capsule " + info.name;
  config = completed(info.stream_config_schema, std::move(config), whose);
  if (!info.stream_state && !info.stream_parameters && !config.empty())
    throw InvalidArgument(ErrorCode::invalid_config,
                          whose +
                              " is not empty, but the capsule has neither a stream state nor "
                              "stream parameters that could use it; leave it out");
  return config;
}

}  // namespace vcap::detail
