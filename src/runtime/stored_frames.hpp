// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <opencv2/core/mat.hpp>

#include "vcap/runtime/source.hpp"

namespace vcap {

/// What a stored source goes through: pictures in order, one of which is the present one once
/// seek() or next() has given true. Thread safety: thread-compatible.
class StoredFrames {
 public:
  StoredFrames() = default;
  StoredFrames(const StoredFrames&) = delete;
  StoredFrames& operator=(const StoredFrames&) = delete;
  virtual ~StoredFrames() = default;

  virtual SourceInfo info() const = 0;
  /// Goes to the first picture at or after that time, forth or back; false where there is none.
  /// Throws SourceError.
  virtual bool seek(std::chrono::nanoseconds time) = 0;
  /// Goes to the next picture; false at the end. Throws SourceError.
  virtual bool next() = 0;
  /// The present picture's time from the beginning; rises strictly from one to the next.
  virtual std::chrono::nanoseconds time() const = 0;
  /// Whether something between the present picture and the one before could not be decoded.
  virtual bool follows_damage() const { return false; }
  /// The present picture's pixels, in memory of their own. Throws SourceError.
  virtual cv::Mat picture() = 0;
};

}  // namespace vcap
