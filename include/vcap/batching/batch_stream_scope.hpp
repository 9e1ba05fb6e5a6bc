// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// Sets, for its lifetime, the stream for which this thread sends requests.
///
/// Every BatchExecutor takes requests from the streams in turn, so that a stream with many requests
/// does not delay the others. Capsule::process_frame makes a scope around the backend's; capsule
/// authors need not care. Requests sent outside any scope form a stream of their own. Scopes nest;
/// each is destroyed by the thread that made it. Thread safety: thread-compatible.
class VCAP_EXPORT BatchStreamScope {
 public:
  explicit BatchStreamScope(std::string_view stream_id) noexcept;
  ~BatchStreamScope();
  BatchStreamScope(const BatchStreamScope&) = delete;
  BatchStreamScope& operator=(const BatchStreamScope&) = delete;

  /// The calling thread's stream, as a hash of its id; 0 outside any scope. Two ids with the same
  /// hash share their turns, and nothing else.
  static std::uint64_t current() noexcept;

 private:
  std::uint64_t outer_;
};

}  // namespace vcap
