// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/json_value.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <ostream>

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

bool is_member(const JsonValue& element) {
  return element->is_array() && element->size() == 2 && element->front().is_string();
}

}  // namespace

JsonValue::JsonValue() noexcept : JsonValue(nlohmann::json()) {}

JsonValue::JsonValue(const nlohmann::json& value) : JsonValue(nlohmann::json(value)) {}

JsonValue::JsonValue(nlohmann::json&& value) noexcept {
  static_assert(sizeof(storage_) == sizeof(nlohmann::json) &&
                alignof(JsonValue) >= alignof(nlohmann::json));
  ::new (storage_) nlohmann::json(std::move(value));
}

JsonValue::JsonValue(std::string_view text) : JsonValue(nlohmann::json(text)) {}

JsonValue::JsonValue(Exact, bool value) noexcept : JsonValue(nlohmann::json(value)) {}

JsonValue::JsonValue(Exact, std::int64_t value) noexcept : JsonValue(nlohmann::json(value)) {}

JsonValue::JsonValue(Exact, std::uint64_t value) noexcept : JsonValue(nlohmann::json(value)) {}

JsonValue::JsonValue(Exact, double value) noexcept : JsonValue(nlohmann::json(value)) {}

JsonValue::JsonValue(std::initializer_list<JsonValue> elements) : JsonValue() {
  nlohmann::json& value = **this;
  if (std::ranges::all_of(elements, is_member)) {
    value = nlohmann::json::object();
    for (const JsonValue& element : elements)
      value.emplace(element->front().get_ref<const std::string&>(), element->back());
  } else {
    value = nlohmann::json::array();
    for (const JsonValue& element : elements) value.push_back(*element);
  }
}

JsonValue::JsonValue(const JsonValue& other) : JsonValue(nlohmann::json(*other)) {}

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

JsonValue JsonValue::array() { return nlohmann::json::array(); }

JsonValue JsonValue::object() { return nlohmann::json::object(); }

nlohmann::json JsonValue::operator*() && noexcept { return std::move(**this); }

JsonValue::operator nlohmann::json() && noexcept { return std::move(**this); }

bool JsonValue::operator==(const JsonValue& other) const { return **this == *other; }

bool JsonValue::operator==(const nlohmann::json& other) const { return **this == other; }

std::ostream& JsonValue::write(std::ostream& out) const {
  return out << (*this)->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace vcap
