// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

class JsonValue;

namespace detail {
template <typename Type>
concept Arithmetic = std::is_arithmetic_v<Type>;

/// What JsonValue has no constructor of its own for.
template <typename Type>
concept OtherJsonSource = !std::same_as<Type, JsonValue> && !std::same_as<Type, nlohmann::json> &&
                          !Arithmetic<Type> && !std::convertible_to<const Type&, std::string_view>;
}  // namespace detail

/// A nlohmann::json for headers: they include only <nlohmann/json_fwd.hpp>, which compiles in a
/// fraction of the time. Thread safety: value.
///
/// Takes the same values and braces as nlohmann::json, and converts to a reference to one. It has
/// the functions that are used most; `->` gives all of them. `*`, `[]`
/// and at() of a temporary give values, which a reference or a range-based for loop keeps alive; a
/// temporary has no `->`. To give a temporary to a `const json&`, write `*` before it: a
/// conversion would refer to the temporary, so it does not compile. Code that reads
/// or changes the value includes <nlohmann/json.hpp>. Code that only passes it on, or assigns text,
/// numbers and braces of them, needs no more than this header.
class VCAP_EXPORT JsonValue {
  /// nlohmann::json for templates: it need not be complete until one is instantiated.
  template <typename>
  struct Late {
    using Json = nlohmann::json;
  };

 public:
  JsonValue() noexcept;  ///< null
  JsonValue(std::nullptr_t) noexcept : JsonValue() {}
  JsonValue(const nlohmann::json& value);
  JsonValue(nlohmann::json&& value) noexcept;
  JsonValue(std::string_view text);
  JsonValue(const std::string& text) : JsonValue(std::string_view(text)) {}
  JsonValue(const char* text) : JsonValue(std::string_view(text)) {}
  template <detail::Arithmetic Number>
  JsonValue(Number number) noexcept : JsonValue(Exact{}, widened(number)) {}
  /// An object if each element is an array of a string and one more value; else an array.
  JsonValue(std::initializer_list<JsonValue> elements);
  /// From any other type that nlohmann::json takes, such as a std::vector.
  template <detail::OtherJsonSource Value>
  JsonValue(const Value& value) : JsonValue(typename Late<Value>::Json(value)) {}

  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  static JsonValue array();   ///< an empty array
  static JsonValue object();  ///< an empty object

  nlohmann::json* operator->() & noexcept { return reinterpret_cast<nlohmann::json*>(storage_); }
  const nlohmann::json* operator->() const& noexcept {
    return reinterpret_cast<const nlohmann::json*>(storage_);
  }
  void operator->() const&& = delete;  // would point into a temporary
  nlohmann::json& operator*() & noexcept { return *operator->(); }
  const nlohmann::json& operator*() const& noexcept { return *operator->(); }
  nlohmann::json operator*() && noexcept;
  operator nlohmann::json&() & noexcept { return *operator->(); }
  operator const nlohmann::json&() const& noexcept { return *operator->(); }
  operator const nlohmann::json&() const&& = delete;  // would refer to a temporary
  operator nlohmann::json() && noexcept;

  /// As the functions of nlohmann::json with these names.
  template <typename Key>
  auto& operator[](Key&& key) & {
    return late<Key>()[std::forward<Key>(key)];
  }
  template <typename Key>
  const auto& operator[](Key&& key) const& {
    return late<Key>()[std::forward<Key>(key)];
  }
  template <typename Key>
  auto operator[](Key&& key) && {
    return std::move(late<Key>()[std::forward<Key>(key)]);
  }
  template <typename Key>
  auto& at(Key&& key) & {
    return late<Key>().at(std::forward<Key>(key));
  }
  template <typename Key>
  const auto& at(Key&& key) const& {
    return late<Key>().at(std::forward<Key>(key));
  }
  template <typename Key>
  auto at(Key&& key) && {
    return std::move(late<Key>().at(std::forward<Key>(key)));
  }
  template <typename Key, typename Default>
  auto value(Key&& key, Default&& otherwise) const {
    return late<Key>().value(std::forward<Key>(key), std::forward<Default>(otherwise));
  }
  template <typename Key>
  bool contains(Key&& key) const {
    return late<Key>().contains(std::forward<Key>(key));
  }
  template <typename Key>
  auto erase(Key&& key) {
    return late<Key>().erase(std::forward<Key>(key));
  }
  template <typename Type>
  auto get() const {
    return late<Type>().template get<Type>();
  }
  template <typename Json = nlohmann::json>
  auto items() const& {
    return late<Json>().items();
  }
  template <typename Json = nlohmann::json>
  void items() const&& = delete;  // would refer into a temporary
  template <typename Json = nlohmann::json>
  bool is_null() const noexcept {
    return late<Json>().is_null();
  }
  template <typename Json = nlohmann::json>
  bool is_object() const noexcept {
    return late<Json>().is_object();
  }
  template <typename Json = nlohmann::json>
  bool empty() const noexcept {
    return late<Json>().empty();
  }
  template <typename Json = nlohmann::json>
  std::size_t size() const noexcept {
    return late<Json>().size();
  }

  bool operator==(const JsonValue& other) const;
  bool operator==(const nlohmann::json& other) const;
  template <typename Value>
  requires std::convertible_to<const Value&, JsonValue>
  bool operator==(const Value& other) const { return *this == JsonValue(other); }
  /// Writes the value as JSON, on one line. Visible only for a JsonValue: other types convert to
  /// one.
  friend std::ostream& operator<<(std::ostream& out, const JsonValue& value) {
    return value.write(out);
  }

 private:
  struct Exact {};
  JsonValue(Exact, bool value) noexcept;
  JsonValue(Exact, std::int64_t value) noexcept;
  JsonValue(Exact, std::uint64_t value) noexcept;
  JsonValue(Exact, double value) noexcept;

  template <typename Number>
  static auto widened(Number number) noexcept {
    if constexpr (std::same_as<Number, bool>)
      return number;
    else if constexpr (std::floating_point<Number>)
      return static_cast<double>(number);
    else if constexpr (std::unsigned_integral<Number>)
      return static_cast<std::uint64_t>(number);
    else
      return static_cast<std::int64_t>(number);
  }

  std::ostream& write(std::ostream& out) const;

  template <typename Any>
  typename Late<Any>::Json& late() noexcept {
    return *operator->();
  }
  template <typename Any>
  const typename Late<Any>::Json& late() const noexcept {
    return *operator->();
  }

  /// The nlohmann::json, which is incomplete here.
  alignas(8) std::byte storage_[16];
};

}  // namespace vcap
