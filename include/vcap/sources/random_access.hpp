// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/sources/row_range.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Random access to the frames of a stored source, for several readers at once.
/// Source::random_access() makes one. Thread-safe.
class VCAP_EXPORT RandomAccess {
 public:
  RandomAccess() = default;
  RandomAccess(const RandomAccess&) = delete;
  RandomAccess& operator=(const RandomAccess&) = delete;
  virtual ~RandomAccess();

  /// The exact number of frames.
  virtual std::int64_t frames() const = 0;
  /// Whether a frame is null (Frame::is_null). False by default.
  virtual bool is_null(std::int64_t row) const;
  /// A source that gives the frames of these rows. Their index, time, pixels and discontinuity are
  /// the same as if all frames were read in order. Frames between the ranges are decoded only if
  /// that is faster than skipping them, or cannot be avoided. Ranges ascend and do not overlap.
  ///
  /// Frames are located without decoding, so a damaged source may differ from its index. Opening or
  /// reading then throws SourceError (source_not_as_indexed) naming the frame; from there on the
  /// frames can only be read in order from the beginning. Throws InvalidArgument for rows that do
  /// not exist.
  virtual std::unique_ptr<Source> open(const std::vector<RowRange>& rows) const = 0;
  /// All frames from row `first` on.
  std::unique_ptr<Source> open_at(std::int64_t first) const { return open({{first, frames()}}); }
  /// Where to cut near a frame so that few frames are decoded twice: the first frame that is
  /// decoded from the same keyframe as `row`. `row` must exist. Default: `row`, as if each frame
  /// could be decoded by itself.
  virtual std::int64_t seek_point(std::int64_t row) const;
};

}  // namespace vcap
