// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// A JSON value with its place in the document, so that error messages can name its JSON pointer:
/// `/children/0/name: a string is needed, but it is 7`. At the root there is no pointer, so that
/// the caller can prepend a place.
///
/// Borrows the value. All errors are InvalidArgument (invalid_json). Thread safety: value.
class VCAP_EXPORT JsonView {
 public:
  using Pointer = nlohmann::json::json_pointer;

  /// The root of a document.
  explicit JsonView(const nlohmann::json& value) : value_(&value) {}
  JsonView(const nlohmann::json& value, Pointer place) : value_(&value), place_(std::move(place)) {}

  const nlohmann::json& value() const noexcept { return *value_; }
  const Pointer& place() const noexcept { return place_; }
  bool is_null() const noexcept { return value_->is_null(); }

  /// The field of an object; `nullopt` if it is absent.
  std::optional<JsonView> find(const std::string& key) const;
  /// The field of an object; throws if it is missing.
  JsonView operator[](const std::string& key) const;
  /// The elements of an array.
  std::vector<JsonView> elements() const;
  /// The fields of an object, in the order of their names.
  std::vector<std::pair<std::string, JsonView>> fields() const;

  /// Throws if the object has a field that is not among these.
  void allow_fields(std::initializer_list<std::string_view> known) const;

  const std::string& text() const;
  bool boolean() const;
  /// A finite number, whole or not.
  double number() const;
  /// A whole number that fits; 3.0 is refused.
  std::int64_t integer() const;
  std::vector<std::string> texts() const;

  /// Throws InvalidArgument: "<needed> is needed, but it is <the value>".
  [[noreturn]] void fail(std::string_view needed) const;
  /// Throws InvalidArgument with this text after the place.
  [[noreturn]] void complain(std::string_view words) const;

 private:
  void need_object() const;
  void need_array() const;

  const nlohmann::json* value_;
  Pointer place_{};
};

/// Describes the value, short enough for a message: `"text"`, `7`, `an array of 3`, `an object`.
VCAP_EXPORT std::string brief(const nlohmann::json& value);

}  // namespace vcap
