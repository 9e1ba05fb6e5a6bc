// SPDX-License-Identifier: Apache-2.0
#include "capsule/schema_expansion.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace vcap::detail {
namespace {

using nlohmann::json;

constexpr int kDepth = 24;
constexpr std::size_t kMostValues = 2048;

/// The form of a keyword's value.
enum class Form {
  note,    ///< for people; a string
  shape,   ///< one of kShapes
  value,   ///< anything
  values,  ///< one or more
  number,
  count,
  flag,
  names,
  types,
  schema,
  schemas,
  schema_or_schemas,
  named_schemas,
  dependencies,
};

const std::map<std::string_view, Form>& keywords() {
  static const std::map<std::string_view, Form> table{
      {"$schema", Form::note},
      {"$comment", Form::note},
      {"title", Form::note},
      {"description", Form::note},
      {"format", Form::shape},
      {"default", Form::value},
      {"examples", Form::values},
      {"type", Form::types},
      {"enum", Form::values},
      {"const", Form::value},
      {"minimum", Form::number},
      {"maximum", Form::number},
      {"exclusiveMinimum", Form::number},
      {"exclusiveMaximum", Form::number},
      {"minLength", Form::count},
      {"maxLength", Form::count},
      {"items", Form::schema_or_schemas},
      {"additionalItems", Form::schema},
      {"minItems", Form::count},
      {"maxItems", Form::count},
      {"uniqueItems", Form::flag},
      {"contains", Form::schema},
      {"properties", Form::named_schemas},
      {"additionalProperties", Form::schema},
      {"required", Form::names},
      {"minProperties", Form::count},
      {"maxProperties", Form::count},
      {"dependencies", Form::dependencies},
      {"allOf", Form::schemas},
      {"anyOf", Form::schemas},
      {"oneOf", Form::schemas},
      {"not", Form::schema},
      {"if", Form::schema},
      {"then", Form::schema},
      {"else", Form::schema},
      {"definitions", Form::named_schemas},
  };
  return table;
}

constexpr std::array<std::string_view, 7> kTypes{"object",  "array",   "string", "number",
                                                 "integer", "boolean", "null"};

/// Kinds of config that a person draws on a picture; they check nothing.
constexpr std::array<std::string_view, 2> kShapes{"line", "polygon"};

json nothing() { return {{"not", json::object()}}; }

std::size_t values_in(const json& value) {
  std::size_t count = 1;
  if (value.is_structured())
    for (const json& inner : value) count += values_in(inner);
  return count;
}

/// Refuses an empty list: a schema that lists nothing would accept nothing.
std::vector<JsonView> some(const JsonView& view) {
  std::vector<JsonView> elements = view.elements();
  if (elements.empty()) view.fail("an array of one or more");
  return elements;
}

void check_number(const JsonView& view) { static_cast<void>(view.number()); }

void check_count(const JsonView& view) {
  if (view.integer() < 0) view.fail("a whole number from 0");
}

void check_type(const JsonView& view) {
  if (std::ranges::find(kTypes, view.text()) == kTypes.end())
    view.fail("one of " + quote_list(kTypes));
}

void check_shape(const JsonView& view) {
  if (std::ranges::find(kShapes, view.text()) == kShapes.end())
    view.fail("one of " + quote_list(kShapes));
}

void check_types(const JsonView& view) {
  if (!view.value().is_array()) return check_type(view);
  for (const JsonView& type : some(view)) check_type(type);
}

void check_names(const JsonView& view) { static_cast<void>(view.texts()); }

[[noreturn]] void refuse(const std::string& keyword, const JsonView& argument) {
  std::vector<std::string_view> known;
  for (const auto& [name, form] : keywords()) known.push_back(name);
  argument.complain("vcap does not support the keyword " + quote(keyword) +
                    suggestion(keyword, known));
}

class Expander {
 public:
  Expander(const JsonView& root, std::vector<ExpandedSchema::Default>& defaults)
      : root_(root), defaults_(defaults) {}

  json schema(const JsonView& view, int depth = 0) {
    count(view, 1);
    if (depth > kDepth)
      view.complain("is nested deeper than " + std::to_string(kDepth) +
                    " levels, including references; a schema cannot refer to itself");
    if (view.value().is_boolean()) return view.value().get<bool>() ? json::object() : nothing();
    if (const auto reference = view.find("$ref")) return schema(target(*reference), depth + 1);

    json expanded = json::object();
    for (const auto& [keyword, argument] : view.fields()) {
      const auto form = keywords().find(keyword);
      if (form == keywords().end()) refuse(keyword, argument);
      expanded[keyword] = read(form->second, argument, depth + 1);
    }
    expanded.erase("definitions");
    expanded.erase("format");
    if (const auto given = view.find("default")) defaults_.push_back({given->place(), expanded});
    return expanded;
  }

 private:
  json read(Form form, const JsonView& view, int depth) {
    switch (form) {
      case Form::schema:
        return schema(view, depth);
      case Form::schemas:
        return list(view, depth);
      case Form::schema_or_schemas:
        return view.value().is_array() ? list(view, depth) : schema(view, depth);
      case Form::named_schemas:
        return named(view, [&](const JsonView& inner) { return schema(inner, depth); });
      case Form::dependencies:
        return named(view, [&](const JsonView& inner) {
          return read(inner.value().is_array() ? Form::names : Form::schema, inner, depth);
        });
      default:
        check(form, view);
        count(view, values_in(view.value()));
        return view.value();
    }
  }

  static void check(Form form, const JsonView& view) {
    if (form == Form::note) static_cast<void>(view.text());
    if (form == Form::shape) check_shape(view);
    if (form == Form::values) static_cast<void>(some(view));
    if (form == Form::number) check_number(view);
    if (form == Form::count) check_count(view);
    if (form == Form::flag) static_cast<void>(view.boolean());
    if (form == Form::names) check_names(view);
    if (form == Form::types) check_types(view);
  }

  json list(const JsonView& view, int depth) {
    json expanded = json::array();
    for (const JsonView& inner : some(view)) expanded.push_back(schema(inner, depth));
    return expanded;
  }

  template <class Read>
  static json named(const JsonView& view, Read read) {
    json expanded = json::object();
    for (const auto& [name, inner] : view.fields()) expanded[name] = read(inner);
    return expanded;
  }

  /// What a reference names: a place in the same document, because nothing is fetched.
  JsonView target(const JsonView& reference) const {
    const std::string& text = reference.text();
    if (!text.starts_with('#'))
      reference.fail("a place in the same schema (such as \"#/definitions/point\")");
    try {
      const JsonView::Pointer pointer(text.substr(1));
      return {root_.value().at(pointer), root_.place() / pointer};
    } catch (const json::exception&) {
      reference.complain(quote(text) + " does not exist in the schema");
    }
  }

  void count(const JsonView& view, std::size_t values) {
    values_ += values;
    if (values_ > kMostValues)
      view.complain("up to here, the schema has more than " + std::to_string(kMostValues) +
                    " values, including those of references");
  }

  const JsonView& root_;
  std::vector<ExpandedSchema::Default>& defaults_;
  std::size_t values_ = 0;
};

}  // namespace

ExpandedSchema expanded_schema(const JsonView& declared) {
  if (!declared.value().is_object()) declared.fail("an object that is a JSON Schema");
  ExpandedSchema result;
  result.schema = Expander(declared, result.defaults).schema(declared);
  return result;
}

bool takes_nothing(const json& schema) { return schema == nothing(); }

}  // namespace vcap::detail
