// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "pipeline/http_handler.hpp"
#include "pipeline/http_message.hpp"

namespace vcap {

/// Keeps the body of a request while it arrives, in memory or in a new file. What is wrong with it
/// becomes an answer; the rest of the body is then dropped. Thread safety: thread-compatible.
class HttpBody {
 public:
  explicit HttpBody(const BodyRule& rule);

  void append(std::string_view bytes);
  /// All that came, with what was dropped.
  std::uint64_t received() const noexcept { return received_; }
  /// Whether more came than allowed.
  bool is_too_long() const noexcept { return received_ > most_bytes_; }
  /// Why the request is refused.
  const std::optional<HttpAnswer>& failure() const noexcept { return failure_; }

  /// Hands the body over to its request.
  void move_into(HttpRequest& request);

 private:
  class File;

  void fail(int error, const std::filesystem::path& folder);

  const std::uint64_t most_bytes_;
  std::filesystem::path folder_;
  std::uint64_t received_ = 0;
  std::string memory_{};
  std::shared_ptr<File> file_{};
  std::optional<HttpAnswer> failure_{};
};

/// The answer to a body that is longer than `most_bytes`.
HttpAnswer too_long_body(std::uint64_t most_bytes);

}  // namespace vcap
