// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/export.hpp"

namespace vcap {

/// The number of threads that one video's decoder may create while this object exists. Limits: four
/// per video, beyond which they gain little; one per core; two per core for all videos together.
/// Thread safety: thread-compatible; any number of objects may be used at once.
///
/// Exported, although only this library uses it: its count is one for the process, and a test that
/// links this class would otherwise count in a copy of its own.
class VCAP_EXPORT DecoderThreads {
 public:
  /// `most`: a further limit; 0: none.
  explicit DecoderThreads(int most = 0) noexcept;
  ~DecoderThreads();
  DecoderThreads(const DecoderThreads&) = delete;
  DecoderThreads& operator=(const DecoderThreads&) = delete;

  /// 0: no threads; the reading thread decodes.
  int count() const noexcept { return count_; }
  /// Gives back the threads, since the decoder needs none. Idempotent.
  void give_back() noexcept;

  /// The threads of all videos together, and their limit.
  static int in_use() noexcept;
  static int limit() noexcept;

 private:
  int count_ = 0;
};

}  // namespace vcap
