// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>

namespace vcap {

/// Writes all bytes to an open file; on failure returns false, with errno set.
inline bool write_all(int fd, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    constexpr std::size_t kMost = std::size_t{1} << 30;  // the kernel takes less than 2 GiB at once
    const ssize_t count = ::write(fd, bytes.data(), std::min(bytes.size(), kMost));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace vcap
