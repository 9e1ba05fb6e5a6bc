// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core/mat.hpp>

#include "capsule/levels.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"

namespace vcap {

/// The first bytes of each message. Both sides are of the same machine, so numbers are in its order
/// of bytes.
inline constexpr std::uint16_t kWireVersion = 1;
/// Levels of nodes, and of lists and objects in JSON, that a message has at most: one more than a
/// capsule may give, so that the check of its output still finds that there are too many.
inline constexpr std::size_t kMostWireLevels = detail::kMostLevels + 1;
/// Bytes and pictures that a message has at most. What is read from it may need up to forty times
/// as much memory as its bytes.
inline constexpr std::size_t kMostWireBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostWirePictures = 65'536;

/// What a host and the code of a capsule send each other if they are apart: flat bytes, and
/// pictures beside them. Thread safety: value.
struct WireMessage {
  std::string bytes{};
  std::vector<cv::Mat> pictures{};
};

/// Numbers that go as their bytes. A bool does not: the reader must check that it is 0 or 1.
template <class T>
concept WirePlain = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool>;
/// `T` is `Of`, which a writer has as a constant.
template <class T, class Of>
concept Wired = std::same_as<std::remove_const_t<T>, Of>;

/// Makes a message, field by field.
///
/// A type of several fields has a function wire_fields(wire, value), which calls `wire` with each
/// of them. If all fields are public, it is one template for writing and reading. What is below
/// kMostWireLevels is left out. Thread safety: thread-compatible.
class VCAP_EXPORT WireWriter {
 public:
  WireWriter() { (*this)(kWireVersion); }

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (write(fields), ...);
  }
  /// One of an enumeration's values, whose last one is given.
  template <class Enum>
  void choice(const Enum& value, Enum) {
    write(static_cast<std::uint8_t>(value));
  }
  /// Elements one level below.
  template <class Elements>
  void nested(const Elements& elements) {
    if (levels_ == kMostWireLevels) return write(std::uint32_t{0});
    ++levels_;
    write(elements);
    --levels_;
  }

  /// Throws InvalidArgument if the message is too large; with another code, Error of that code.
  WireMessage take(ErrorCode too_large = ErrorCode::invalid_argument) &&;

 private:
  void raw(const void* bytes, std::size_t size) {
    message_.bytes.append(static_cast<const char*>(bytes), size);
  }
  /// Throws InvalidArgument if there are more than a message can count.
  void count(std::size_t elements);

  template <WirePlain T>
  void write(const T& number) {
    raw(&number, sizeof number);
  }
  void write(bool truth) { write(static_cast<std::uint8_t>(truth)); }
  void write(std::string_view text) {
    count(text.size());
    raw(text.data(), text.size());
  }
  void write(const std::string& text) { write(std::string_view(text)); }
  void write(const cv::Mat& picture) { message_.pictures.push_back(picture); }
  void write(const nlohmann::json& value) { write(value, 1); }
  void write(const JsonValue& value) { write(*value); }
  void write(const nlohmann::json& value, std::size_t level);
  template <class T, std::size_t extent>
  void write(const std::span<T, extent>& elements) {
    count(elements.size());
    if constexpr (WirePlain<std::remove_const_t<T>>)
      raw(elements.data(), elements.size_bytes());
    else
      for (const T& element : elements) write(element);
  }
  template <class T>
  void write(const std::vector<T>& elements) {
    write(std::span<const T>(elements));
  }
  template <class Key, class Value>
  void write(const std::map<Key, Value>& entries) {
    count(entries.size());
    for (const auto& [key, value] : entries) (*this)(key, value);
  }
  template <class T>
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <class T>
  requires std::is_class_v<T>
  void write(const T& value) { wire_fields(*this, value); }

  WireMessage message_{};
  std::size_t levels_ = 1;  ///< of nodes that are open
};

/// Reads what WireWriter wrote, and trusts nothing of it: the size of the message is bounded, and
/// every count is held against the bytes that are left. Borrows the message, which must not change
/// meanwhile. All functions throw Error (misbehaving_capsule). Thread safety: thread-compatible.
class VCAP_EXPORT WireReader {
 public:
  /// `whose` names the other side, for messages: "capsule people".
  WireReader(const WireMessage& message, std::string_view whose);

  template <class... Fields>
  void operator()(Fields&... fields) {
    (read(fields), ...);
  }
  template <class Enum>
  void choice(Enum& value, Enum last) {
    std::uint8_t number = 0;
    read(number);
    if (number > static_cast<std::uint8_t>(last)) refuse("has an unknown choice");
    value = static_cast<Enum>(number);
  }
  template <class Elements>
  void nested(Elements& elements) {
    if (++levels_ > kMostWireLevels + 1) refuse_levels();
    read(elements);
    --levels_;
  }

  /// Must be called once all is read: refuses a message that has more.
  void end() const;
  [[noreturn]] void refuse(std::string_view fault) const;

 private:
  std::size_t left() const noexcept { return message_.bytes.size() - place_; }
  /// The place of so many bytes, which it skips.
  const char* raw(std::size_t size) {
    if (size > left()) refuse("ends too early");
    return message_.bytes.data() + std::exchange(place_, place_ + size);
  }
  /// A number of elements that have `size` bytes at least.
  std::size_t count(std::size_t size = 1);
  [[noreturn]] void refuse_levels() const;

  template <WirePlain T>
  void read(T& number) {
    std::memcpy(&number, raw(sizeof number), sizeof number);
  }
  void read(bool& truth);
  void read(std::string& text);
  void read(cv::Mat& picture);
  void read(nlohmann::json& value) { read(value, 1); }
  void read(JsonValue& value) { read(*value); }
  void read(nlohmann::json& value, std::size_t level);
  template <class T>
  void read(std::vector<T>& elements) {
    elements.clear();
    if constexpr (WirePlain<T>) {
      elements.resize(count(sizeof(T)));
      const std::size_t size = elements.size() * sizeof(T);
      if (size > 0) std::memcpy(elements.data(), raw(size), size);
    } else {
      for (std::size_t more = count(); more > 0; --more) read(elements.emplace_back());
    }
  }
  template <class Key, class Value>
  void read(std::map<Key, Value>& entries) {
    entries.clear();
    for (std::size_t more = count(); more > 0; --more) {
      Key key{};
      read(key);
      read(entries.emplace_hint(entries.end(), std::move(key), Value{})->second);
    }
  }
  template <class T>
  void read(std::optional<T>& value) {
    bool has_value = false;
    read(has_value);
    value.reset();
    if (has_value) read(value.emplace());
  }
  template <class T>
  requires std::is_class_v<T>
  void read(T& value) { wire_fields(*this, value); }

  const WireMessage& message_;
  const std::string_view whose_;
  std::size_t place_ = 0;
  std::size_t next_picture_ = 0;
  std::size_t levels_ = 1;
};

}  // namespace vcap
