// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Memory for pixels that other processes can read without a copy.
///
/// It is one memory file of a fixed size. This process writes it through its own mapping. The file
/// is sealed, so that whoever else gets its descriptor can map it for reading only, and cannot
/// change its size. A picture from it is a cv::Mat that owns its part of the file, which goes back
/// with the last reference to it; a crop keeps the whole part. Copies that OpenCV makes (clone,
/// copyTo) are not in the pool. Memory of the system is used as far as the file was ever filled.
/// Thread safety: thread-safe.
class VCAP_EXPORT FramePool {
 public:
  /// What the pool holds. Thread safety: value.
  struct Statistics {
    std::size_t bytes = 0;     ///< of the file
    std::size_t used = 0;      ///< by pictures now, as whole pages
    std::size_t most = 0;      ///< the most that was used so far
    std::size_t pictures = 0;  ///< parts that are used now
    std::size_t refused = 0;   ///< pictures for which there was no room
  };

  /// `bytes` is rounded up to whole pages. Throws std::system_error, if the system has no memory
  /// files, or not enough addresses.
  explicit FramePool(std::size_t bytes);
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  /// A picture without padding between its rows, whose first pixel is at a multiple of the page's
  /// size. Its pixels have any value. Empty if there is no room: the pool does not wait, because
  /// whoever holds its pictures may be waiting, too. It may outlive the pool.
  cv::Mat allocate(cv::Size size, int type);

  /// The place of the picture's first pixel in the file; `nullopt` if it is not in this pool.
  std::optional<std::size_t> offset_of(const cv::Mat& picture) const noexcept;

  /// The file, for other processes. It stays open as long as the pool.
  int descriptor() const noexcept;
  Statistics statistics() const;

 private:
  class Pages;
  struct Part;
  class Allocator;

  const std::shared_ptr<Pages> pages_;  // pictures keep them alive
};

}  // namespace vcap
