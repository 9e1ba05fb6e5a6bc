// SPDX-License-Identifier: Apache-2.0
#include "model/json_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

std::string brief(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array of " + std::to_string(value.size());
  if (value.is_string()) return quote(value.get_ref<const std::string&>());
  if (value.is_binary()) return "binary data";
  if (value.is_number_float()) return number_text(value.get<double>());
  return value.dump();
}

void JsonView::complain(std::string_view words) const {
  const std::string place = place_.empty() ? "" : place_.to_string() + ": ";
  throw InvalidArgument(ErrorCode::invalid_json, place + std::string(words));
}

void JsonView::fail(std::string_view needed) const {
  complain(std::string(needed) + " is needed, but it is " + brief(*value_));
}

void JsonView::need_object() const {
  if (!value_->is_object()) fail("an object");
}

void JsonView::need_array() const {
  if (!value_->is_array()) fail("an array");
}

std::optional<JsonView> JsonView::find(const std::string& key) const {
  need_object();
  const auto it = value_->find(key);
  if (it == value_->end()) return std::nullopt;
  return JsonView(*it, place_ / key);
}

JsonView JsonView::operator[](const std::string& key) const {
  if (auto field = find(key)) return *std::move(field);
  complain("the field " + quote(key) + " is missing");
}

std::vector<JsonView> JsonView::elements() const {
  need_array();
  std::vector<JsonView> views;
  views.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) views.emplace_back((*value_)[i], place_ / i);
  return views;
}

std::vector<std::pair<std::string, JsonView>> JsonView::fields() const {
  need_object();
  std::vector<std::pair<std::string, JsonView>> views;
  views.reserve(value_->size());
  for (const auto& [key, field] : value_->items()) {
    views.emplace_back(key, JsonView(field, place_ / key));
  }
  return views;
}

void JsonView::allow_fields(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, field] : fields())
    if (std::find(known.begin(), known.end(), key) == known.end())
      field.complain("the field is unknown" + suggestion(key, known) + "; the fields are " +
                     quote_list(known));
}

const std::string& JsonView::text() const {
  if (!value_->is_string()) fail("a string");
  return value_->get_ref<const std::string&>();
}

bool JsonView::boolean() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

double JsonView::number() const {
  if (!value_->is_number()) fail("a number");
  const double number = value_->get<double>();
  // JSON text cannot contain these, but a value made in memory can.
  if (!std::isfinite(number)) fail("a finite number");
  return number;
}

std::int64_t JsonView::integer() const {
  if (!value_->is_number_integer()) fail("a whole number");
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > most) {
    fail("a whole number of at most " + std::to_string(most));
  }
  return value_->get<std::int64_t>();
}

std::vector<std::string> JsonView::texts() const {
  std::vector<std::string> texts;
  for (const JsonView& element : elements()) texts.push_back(element.text());
  return texts;
}

}  // namespace vcap
