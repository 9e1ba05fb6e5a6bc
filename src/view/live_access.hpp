// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vcap/view/view_token.hpp"

namespace vcap {

/// Who asks, as its token says. Thread safety: value.
struct LiveClient {
  std::string name{};
  ViewRole role = ViewRole::viewer;
  std::optional<std::set<std::string>> streams{};  ///< absent: all

  bool may_see(const std::string& stream) const { return !streams || streams->contains(stream); }
};

/// The tokens of a live view. Thread safety: thread-safe.
class LiveAccess {
 public:
  /// Without tokens, everybody is a viewer of all streams.
  explicit LiveAccess(const std::vector<ViewToken>& tokens);

  bool needs_token() const noexcept { return !tokens_.empty(); }
  /// `authorization`: the header of that name. `nullopt` if it has no token or an unknown one. The
  /// time that it takes does not depend on the token that is given.
  std::optional<LiveClient> client(const std::string& authorization) const;

 private:
  struct Token {
    std::string digest{};  ///< so that all have one length
    LiveClient client{};
  };

  std::vector<Token> tokens_{};
};

}  // namespace vcap
