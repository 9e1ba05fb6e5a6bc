// SPDX-License-Identifier: Apache-2.0
#include "records/track_numbers.hpp"

#include <array>
#include <cstdio>
#include <optional>
#include <random>

namespace vcap {
namespace {

/// The first half of the UUIDs that hold a number: a random value, of version 4.
constexpr std::array<std::uint8_t, 9> kMark{0x5c, 0x1e, 0x93, 0x07, 0xd2, 0x6a, 0x4b, 0xf4, 0x8e};
constexpr std::int64_t kNumbers = std::int64_t{1} << 56;

std::optional<std::int64_t> number_in(const Uuid& track) {
  const std::array<std::uint8_t, 16> bytes = track.bytes();
  if (!std::equal(kMark.begin(), kMark.end(), bytes.begin())) return std::nullopt;
  std::int64_t number = 0;
  for (std::size_t i = kMark.size(); i < bytes.size(); ++i) number = number << 8 | bytes[i];
  return number;
}

}  // namespace

Uuid uuid_of_track(std::int64_t number) {
  if (number < 0 || number >= kNumbers) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(number));
    return Uuid::random(engine);
  }
  char text[40];
  std::snprintf(text, sizeof text, "5c1e9307-d26a-4bf4-8e%02x-%012llx",
                static_cast<unsigned>(number >> 48),
                static_cast<unsigned long long>(number & ((std::int64_t{1} << 48) - 1)));
  return Uuid::parse(text);
}

std::int64_t TrackNumbers::number(const std::string& stream_id, const Uuid& track) {
  const auto [place, is_new] = numbers_[stream_id].try_emplace(track, 0);
  if (!is_new) return place->second;
  if (const auto known = number_in(track); known && *known > 0 && taken_.insert(*known).second)
    return place->second = *known;
  do ++last_;
  while (!taken_.insert(last_).second);
  return place->second = last_;
}

}  // namespace vcap
