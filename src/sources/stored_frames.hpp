// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <opencv2/core/mat.hpp>

#include "vcap/media/broken_pictures.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

class StoredFrames;

/// All pictures of a stored source, numbered from 0 in reading order. Found without decoding, so
/// some damaged ones may turn out to be missing. Thread-safe.
class StoredIndex {
 public:
  StoredIndex() = default;
  StoredIndex(const StoredIndex&) = delete;
  StoredIndex& operator=(const StoredIndex&) = delete;
  virtual ~StoredIndex() = default;

  virtual std::int64_t size() const = 0;
  /// From the beginning; increases strictly with the number.
  virtual std::chrono::nanoseconds time(std::int64_t number) const = 0;
  /// The picture at which decoding begins to reach that one: the last keyframe not after it.
  virtual std::int64_t key_before(std::int64_t number) const { return number; }
  /// Bytes for StoredFrames::restore_index(). Empty if the index is made without reading the
  /// source.
  virtual std::string save() const { return {}; }
  /// Opens the pictures for another reader, with this as their index. Throws SourceError.
  virtual std::unique_ptr<StoredFrames> open(std::stop_token stop) const = 0;
};

/// The pictures of a stored source, in order. One is the current picture after seek(), next() or
/// go_to() has returned true. Thread safety: thread-compatible.
class StoredFrames {
 public:
  StoredFrames() = default;
  StoredFrames(const StoredFrames&) = delete;
  StoredFrames& operator=(const StoredFrames&) = delete;
  virtual ~StoredFrames() = default;

  virtual SourceInfo info() const = 0;
  /// Goes forward or back to the first picture at or after `time`; false if there is none. Throws
  /// SourceError.
  virtual bool seek(std::chrono::nanoseconds time) = 0;
  /// Goes to the next picture; false at the end. Throws SourceError.
  virtual bool next() = 0;
  /// The current picture's time from the beginning; increases strictly from one to the next.
  virtual std::chrono::nanoseconds time() const = 0;
  /// Whether something between the current picture and the previous one could not be decoded.
  virtual bool follows_damage() const { return false; }
  /// The pictures that seek() and next() have skipped since the last call, because they could not
  /// be decoded. Those before the time of a seek do not count, and those that go_to() meets
  /// neither.
  virtual BrokenPictures take_broken() { return {}; }
  /// The current picture's pixels, in memory that is not written again. Throws SourceError.
  virtual cv::Mat picture() = 0;
  /// The current picture's own file (Frame::source_file); empty if all pictures are in one file.
  virtual std::string file() const { return {}; }

  /// Null if the number of every picture is not certain without decoding. May scan the whole
  /// source; the current picture stays the same. Throws SourceError.
  virtual std::shared_ptr<const StoredIndex> index() = 0;
  /// Makes index() give an index that was saved for the same source, so that nothing is scanned.
  /// False if these untrusted bytes are not one.
  virtual bool restore_index(std::string_view /*saved*/) { return false; }
  /// Whether the index is known without reading the source.
  virtual bool has_ready_index() const { return false; }
  /// Goes forward or back to the picture with that number; requires an index. `following`: the
  /// picture that is needed after it, if any, which may save work. False if stopped. Throws
  /// SourceError: source_not_as_indexed if there is no such picture.
  virtual bool go_to(std::int64_t number, std::optional<std::int64_t> following) = 0;
};

}  // namespace vcap
