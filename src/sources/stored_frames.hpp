// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include <opencv2/core/mat.hpp>

#include "vcap/sources/source.hpp"

namespace vcap {

class StoredFrames;

/// All pictures of a stored source, numbered from 0 as they come from its beginning on. Found
/// without decoding, so that of what is damaged some may not be there. Thread-safe.
class StoredIndex {
 public:
  StoredIndex() = default;
  StoredIndex(const StoredIndex&) = delete;
  StoredIndex& operator=(const StoredIndex&) = delete;
  virtual ~StoredIndex() = default;

  virtual std::int64_t size() const = 0;
  /// From the beginning; rises strictly from one to the next.
  virtual std::chrono::nanoseconds time(std::int64_t number) const = 0;
  /// The pictures for a further reader, with this as their index. Throws SourceError.
  virtual std::unique_ptr<StoredFrames> open(std::stop_token stop) const = 0;
};

/// What a stored source goes through: pictures in order, one of which is the present one once
/// seek(), next() or go_to() has given true. Thread safety: thread-compatible.
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

  /// Null where the number of every picture is not sure without decoding. May look through all
  /// there is, and leaves the present picture as it is. Throws SourceError.
  virtual std::shared_ptr<const StoredIndex> index() = 0;
  /// Goes to the picture of that number, forth or back, by the index, which there is. `following`
  /// is the one that will be gone to after it, if any, by which it may save work. False where it
  /// was stopped. Throws SourceError: source_not_as_indexed where there is no such picture.
  virtual bool go_to(std::int64_t number, std::optional<std::int64_t> following) = 0;
};

}  // namespace vcap
