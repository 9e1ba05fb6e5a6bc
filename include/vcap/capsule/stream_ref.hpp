// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace vcap {

namespace detail {
struct OpenStream;
}

/// One opening of a stream in a stateful capsule (Capsule::open_stream).
using StreamHandle = std::shared_ptr<detail::OpenStream>;

/// The stream of a frame: an id, or one opening of the stream. Borrows it for the call. Thread
/// safety: value.
class StreamRef {
 public:
  // Implicit, so that callers of Capsule can pass either.
  StreamRef(std::string_view id = {}) noexcept : id_(id) {}       // NOLINT
  StreamRef(const char* id) noexcept : id_(id) {}                 // NOLINT
  StreamRef(const std::string& id) noexcept : id_(id) {}          // NOLINT
  StreamRef(const StreamHandle& opening) : opening_(&opening) {}  // NOLINT

  /// Empty if an opening was given.
  std::string_view id() const noexcept { return id_; }
  /// Null if an id was given.
  const StreamHandle* opening() const noexcept { return opening_; }

 private:
  std::string_view id_{};
  const StreamHandle* opening_ = nullptr;
};

}  // namespace vcap
