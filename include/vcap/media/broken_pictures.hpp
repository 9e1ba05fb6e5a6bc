// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Pictures of a source that could not be decoded. They are skipped and counted. Thread safety:
/// value.
struct VCAP_EXPORT BrokenPictures {
  /// At most so many are named.
  static constexpr std::size_t kMostNamed = 5;

  /// How many were skipped; a picture counts each time that it is read, as in a loop.
  std::int64_t count = 0;
  /// The first ones, each named once: an image by its file, such as "3.png"; a picture of a video
  /// by its time, such as "1.24 s". Valid UTF-8 without control characters. A picture without a
  /// known time is only counted.
  std::vector<std::string> first{};

  /// Counts one, and names it unless it is named or enough are. Returns whether it was named.
  bool add(const std::string& name);
  /// Adds later ones.
  void add(const BrokenPictures& later);

  bool operator==(const BrokenPictures&) const = default;
};

/// "3 (2.png, 5.png, 9.png)"; further ones than those named as "9 (1.png, …, and 4 more)".
VCAP_EXPORT std::string to_string(const BrokenPictures& broken);

/// {"count": 3, "first": ["2.png", "5.png", "9.png"]}
VCAP_EXPORT void to_json(nlohmann::json& json, const BrokenPictures& broken);
/// Throws nlohmann::json::exception for anything else.
VCAP_EXPORT void from_json(const nlohmann::json& json, BrokenPictures& broken);

}  // namespace vcap
