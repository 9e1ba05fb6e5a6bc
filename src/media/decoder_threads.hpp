// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/export.hpp"

namespace vcap {

/// How many threads one video's decoder may make, as long as this lives: at most four, beyond which
/// they gain little, and at most as many as the machine has; those of all videos together at most
/// twice as many as the machine has. Thread safety: thread-compatible; any number of them at once.
class VCAP_EXPORT DecoderThreads {
 public:
  /// `most`: at most so many; 0: no further limit.
  explicit DecoderThreads(int most = 0) noexcept;
  ~DecoderThreads();
  DecoderThreads(const DecoderThreads&) = delete;
  DecoderThreads& operator=(const DecoderThreads&) = delete;

  /// 0: none; the thread that reads decodes.
  int count() const noexcept { return count_; }
  /// It needs none.
  void give_back() noexcept;

  /// Those of all videos, and how many they may be.
  static int in_use() noexcept;
  static int limit() noexcept;

 private:
  int count_ = 0;
};

}  // namespace vcap
