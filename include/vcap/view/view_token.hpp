// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// What a client of a live view may do. Each role includes the ones before it.
enum class ViewRole {
  viewer,     ///< looks at streams, statistics and settings
  operator_,  ///< also changes options and configs, and starts and stops recordings
  admin       ///< also adds and removes streams, and replaces capsules
};

/// "viewer", "operator" or "admin".
VCAP_EXPORT std::string_view to_string(ViewRole role) noexcept;

/// A secret by which a client of a live view shows what it may do. Thread safety: value.
struct ViewToken {
  std::string name{};   ///< of its owner, for the page and the log; not secret
  std::string token{};  ///< the secret: 16 to 256 printable ASCII characters without spaces
  ViewRole role = ViewRole::viewer;
  /// The ids of the streams that it is for; absent: all, and the log, whose lines may be about any
  /// stream. An admin is for all.
  std::optional<std::set<std::string>> streams{};
};

/// Throws InvalidArgument if a token has another form, an empty stream list or an admin's one, or
/// if two have the same name or secret. The message has no secret.
VCAP_EXPORT void check(const std::vector<ViewToken>& tokens);

/// Reads a file of tokens:
///
///     {"tokens": [{"name": "anna", "token": "…", "role": "operator", "streams": ["gate"]}]}
///
/// Throws InvalidArgument (invalid_json) if it has another form, with its name and the place;
/// InvalidArgument if other users of the machine can read it, if it cannot be read, and as check().
VCAP_EXPORT std::vector<ViewToken> read_view_tokens(const std::string& path);

/// Writes a new file with one random token for the role admin, which only its owner can read.
/// Throws OutputError (output_open) if there is a file of that name, or if it cannot be written.
VCAP_EXPORT void make_view_tokens(const std::string& path);

}  // namespace vcap
