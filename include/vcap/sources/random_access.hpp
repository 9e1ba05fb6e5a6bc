// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/sources/row_range.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// The frames of a stored source, which can be read from any of them on, by several readers at
/// once. Source::random_access() makes one. Thread-safe.
class VCAP_EXPORT RandomAccess {
 public:
  RandomAccess() = default;
  RandomAccess(const RandomAccess&) = delete;
  RandomAccess& operator=(const RandomAccess&) = delete;
  virtual ~RandomAccess();

  /// How many there are, exactly.
  virtual std::int64_t frames() const = 0;
  /// Whether a frame is null (Frame::is_null). By default none is.
  virtual bool is_null(std::int64_t row) const;
  /// A source that gives the frames of these rows, with the index, time, pixels and discontinuity
  /// which they have when all are read in order. What lies between them is decoded only where that
  /// is quicker than to go past it, or cannot be helped. Ranges ascend and do not overlap.
  ///
  /// What is damaged may not be as it was found without decoding. Opening or reading then throws
  /// SourceError (source_not_as_indexed) naming the frame; from there on the frames can only be
  /// had in order from the beginning. Throws InvalidArgument for rows that are not there.
  virtual std::unique_ptr<Source> open(const std::vector<RowRange>& rows) const = 0;
  /// All from that row on.
  std::unique_ptr<Source> open_at(std::int64_t first) const { return open({{first, frames()}}); }
};

}  // namespace vcap
