// SPDX-License-Identifier: Apache-2.0
#include "capsule/describe_schema.hpp"

#include <map>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "capsule/schema_expansion.hpp"
#include "model/json_view.hpp"

namespace vcap::detail {
namespace {

using nlohmann::json;

constexpr std::size_t kMostChoices = 12;  ///< fits into one line of a message

const json* find(const json& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  return found == schema.end() ? nullptr : &*found;
}

std::string any_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < kMostChoices; ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  if (words.size() > kMostChoices)
    text += " or one of " + std::to_string(words.size() - kMostChoices) + " more";
  return text;
}

/// " from 1 to 9", or what is known of the bounds.
std::string range(const json* least, const json* most) {
  if (least && most && *least == *most) return " of " + brief(*least);
  if (least && most) return " from " + brief(*least) + " to " + brief(*most);
  if (least) return " of at least " + brief(*least);
  if (most) return " of at most " + brief(*most);
  return {};
}

/// " of at least 1 character".
std::string length(const json& schema) {
  const json* const least = find(schema, "minLength");
  const json* const most = find(schema, "maxLength");
  if (!least && !most) return {};
  return range(least, most) + (*(most ? most : least) == 1 ? " character" : " characters");
}

std::string number_range(const json& schema) {
  std::string text = range(find(schema, "minimum"), find(schema, "maximum"));
  if (const json* above = find(schema, "exclusiveMinimum")) text += " above " + brief(*above);
  if (const json* below = find(schema, "exclusiveMaximum")) text += " below " + brief(*below);
  return text;
}

std::string describe_array(const json& schema) {
  std::string text = "an array" + range(find(schema, "minItems"), find(schema, "maxItems"));
  const json* const items = find(schema, "items");
  if (items && items->is_object() && !items->empty()) text += ", each " + describe_schema(*items);
  return text;
}

std::string describe_type(const std::string& type, const json& schema) {
  if (type == "integer") return "a whole number" + number_range(schema);
  if (type == "number") return "a number" + number_range(schema);
  if (type == "string") return "a string" + length(schema);
  if (type == "boolean") return "true or false";
  if (type == "array") return describe_array(schema);
  return type == "object" ? "an object" : "null";
}

std::vector<std::string> choices(const json& schema) {
  std::vector<std::string> words;
  if (const json* only = find(schema, "const")) return {brief(*only)};
  if (const json* values = find(schema, "enum")) {
    for (const json& value : *values) words.push_back(brief(value));
    return words;
  }
  if (const json* types = find(schema, "type")) {
    if (types->is_string()) return {describe_type(types->get<std::string>(), schema)};
    for (const json& type : *types) words.push_back(describe_type(type.get<std::string>(), schema));
    return words;
  }
  for (const char* const keyword : {"anyOf", "oneOf"})
    if (const json* alternatives = find(schema, keyword)) {
      for (const json& alternative : *alternatives) words.push_back(describe_schema(alternative));
      return words;
    }
  return words;
}

}  // namespace

std::string describe_schema(const json& schema) {
  if (takes_nothing(schema)) return "nothing";
  if (const json* other = find(schema, "not")) {
    json rest = schema;
    rest.erase("not");
    return describe_schema(rest) + ", but not " + describe_schema(*other);
  }
  if (const auto words = choices(schema); !words.empty()) return any_of(words);
  if (schema.contains("properties")) return "an object";
  if (const std::string numbers = number_range(schema); !numbers.empty())
    return "a value" + numbers;
  return "any value";
}

}  // namespace vcap::detail
