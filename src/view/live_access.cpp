// SPDX-License-Identifier: Apache-2.0
#include "view/live_access.hpp"

#include <nettle/memops.h>

#include <span>
#include <string_view>

#include "files/digest.hpp"

namespace vcap {
namespace {

std::string digest_of_token(std::string_view token) {
  return sha256(std::as_bytes(std::span(token)));
}

}  // namespace

LiveAccess::LiveAccess(const std::vector<ViewToken>& tokens) {
  for (const ViewToken& token : tokens)
    tokens_.push_back({.digest = digest_of_token(token.token),
                       .client = {token.name, token.role, token.streams}});
}

std::optional<LiveClient> LiveAccess::client(const std::string& authorization) const {
  if (tokens_.empty()) return LiveClient{};
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme)) return std::nullopt;
  const std::string digest =
      digest_of_token(std::string_view(authorization).substr(kScheme.size()));
  const Token* found = nullptr;
  for (const Token& token : tokens_)  // all of them, so that the time is always the same
    if (memeql_sec(token.digest.data(), digest.data(), digest.size()) != 0) found = &token;
  return found ? std::optional(found->client) : std::nullopt;
}

}  // namespace vcap
