// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/json_value.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <ostream>

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

using nlohmann::json;

bool is_member(const JsonValue& element) {
  return element->is_array() && element->size() == 2 && element->front().is_string();
}

}  // namespace

JsonValue::JsonValue() noexcept : JsonValue(json()) {}

JsonValue::JsonValue(const json& value) : JsonValue(json(value)) {}

JsonValue::JsonValue(json&& value) noexcept {
  static_assert(sizeof(storage_) == sizeof(json) && alignof(JsonValue) >= alignof(json));
  ::new (storage_) json(std::move(value));
}

JsonValue::JsonValue(std::string_view text) : JsonValue(json(text)) {}

JsonValue::JsonValue(Exact, bool value) noexcept : JsonValue(json(value)) {}

JsonValue::JsonValue(Exact, std::int64_t value) noexcept : JsonValue(json(value)) {}

JsonValue::JsonValue(Exact, std::uint64_t value) noexcept : JsonValue(json(value)) {}

JsonValue::JsonValue(Exact, double value) noexcept : JsonValue(json(value)) {}

JsonValue::JsonValue(std::initializer_list<JsonValue> elements) : JsonValue() {
  json& value = **this;
  if (std::ranges::all_of(elements, is_member)) {
    value = json::object();
    for (const JsonValue& element : elements)
      value.emplace(element->front().get_ref<const std::string&>(), element->back());
  } else {
    value = json::array();
    for (const JsonValue& element : elements) value.push_back(*element);
  }
}

JsonValue::JsonValue(const JsonValue& other) : JsonValue(json(*other)) {}

JsonValue::JsonValue(JsonValue&& other) noexcept : JsonValue(std::move(*other)) {}

JsonValue& JsonValue::operator=(const JsonValue& other) {
  if (this != &other) **this = *other;
  return *this;
}

JsonValue& JsonValue::operator=(JsonValue&& other) noexcept {
  **this = std::move(*other);
  return *this;
}

JsonValue::~JsonValue() { std::destroy_at(operator->()); }

JsonValue JsonValue::array() { return json::array(); }

JsonValue JsonValue::object() { return json::object(); }

bool JsonValue::operator==(const JsonValue& other) const { return **this == *other; }

bool JsonValue::operator==(const json& other) const { return **this == other; }

std::ostream& JsonValue::write(std::ostream& out) const {
  return out << (*this)->dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace vcap
