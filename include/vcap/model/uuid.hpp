// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// A universally unique identifier of version 4 (RFC 9562, section 5.4). Thread safety: value.
class VCAP_EXPORT Uuid {
 public:
  /// The nil identifier: all zeros.
  Uuid() = default;

  /// From the system's source of randomness. Thread-safe.
  static Uuid random();
  /// From the caller's engine of 64 random bits, such as std::mt19937_64; the same seed gives the
  /// same identifiers.
  template <typename Engine>
  requires(Engine::min() == 0 &&
           Engine::max() == std::numeric_limits<std::uint64_t>::max()) static Uuid
      random(Engine& engine) {
    const std::uint64_t high = engine();
    return from_bits(high, engine());
  }
  /// Parses the form "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"; throws InvalidArgument.
  static Uuid parse(std::string_view text);

  std::string to_string() const;
  const std::array<std::uint8_t, 16>& bytes() const& noexcept { return bytes_; }
  std::array<std::uint8_t, 16> bytes() && noexcept { return bytes_; }

  auto operator<=>(const Uuid&) const = default;

 private:
  /// The bits, first to last; the version and the variant are overwritten.
  static Uuid from_bits(std::uint64_t high, std::uint64_t low) noexcept;

  std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace vcap

/// So that a Uuid can be a key of unordered containers.
template <>
struct std::hash<vcap::Uuid> {
  VCAP_EXPORT std::size_t operator()(const vcap::Uuid& uuid) const noexcept;
};
