// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "vcap/base/export.hpp"

namespace vcap::detail {

/// A BatchStreamScope by the hash of the stream's id; 0: requests belong to no stream. For a
/// leader, whose batch belongs to all streams, and for a call that began in another thread. Thread
/// safety: thread-compatible.
class VCAP_EXPORT BatchStreamHashScope {
 public:
  explicit BatchStreamHashScope(std::uint64_t hash) noexcept;
  ~BatchStreamHashScope();
  BatchStreamHashScope(const BatchStreamHashScope&) = delete;
  BatchStreamHashScope& operator=(const BatchStreamHashScope&) = delete;

 private:
  const std::uint64_t outer_;
};

}  // namespace vcap::detail
