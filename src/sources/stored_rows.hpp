// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "sources/stored_frames.hpp"
#include "vcap/sources/row_range.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// The pictures of an index that `start` and `end` leave.
RowRange pictures_left(const StoredIndex& index, const SourceOptions& options);

/// The pictures of a stored source that `start` and `end` leave, as rows from 0, one of which is
/// the present one once go_to() has given true. Rows are come to one after the other, or, with an
/// index, without what lies between. Thread safety: thread-compatible.
class StoredRows {
 public:
  StoredRows(std::unique_ptr<StoredFrames> frames, const SourceOptions& options,
             std::stop_token stop);

  SourceInfo info() const { return frames_->info(); }
  /// The index, where there is one and it holds. Throws SourceError.
  std::shared_ptr<const StoredIndex> index();
  /// From now on rows are come to by the index, if there is one. Where it turns out not to hold,
  /// that is thrown as source_not_as_indexed or, `falling_back`, logged, and they are come to one
  /// after the other from there on.
  void use_index(bool falling_back);
  /// How many there are; nothing where only going through them shows it.
  std::optional<std::int64_t> size() const;

  /// Goes to a row, forth or back; false where there is none, or it was stopped. `following` is the
  /// one that will be gone to after it, if any. Throws SourceError.
  bool go_to(std::int64_t row, std::optional<std::int64_t> following);
  /// How many have been found, where go_to() has given false and it was not stopped.
  std::int64_t found() const noexcept { return found_; }

  // Of the present row.
  std::chrono::nanoseconds time() const { return frames_->time(); }
  /// Until the next one; without an index, as the rate has it.
  std::chrono::nanoseconds duration() const;
  /// Whether damage was met on the way from the row that was present before.
  bool follows_damage() const noexcept { return follows_damage_; }
  cv::Mat picture() { return frames_->picture(); }

  /// Behind the last row that was met.
  std::chrono::nanoseconds end() const { return last_time_ + nominal_duration_; }

 private:
  bool go_through(std::int64_t row);
  bool go_by_index(std::int64_t row, std::optional<std::int64_t> following);
  bool begin();
  bool step();
  bool at_end();
  bool is_past_end() const { return options_.end && frames_->time() >= *options_.end; }

  const std::unique_ptr<StoredFrames> frames_;
  const SourceOptions options_;
  const std::stop_token stop_;
  std::chrono::nanoseconds nominal_duration_;
  std::shared_ptr<const StoredIndex> index_;  ///< by which rows are come to; null: one by one
  RowRange pictures_{};                       ///< those of the index that are the rows
  bool falls_back_ = false;
  bool is_not_as_indexed_ = false;
  std::optional<std::int64_t> row_;  ///< the present one; nothing before the first, and at the end
  std::chrono::nanoseconds last_time_{0};
  std::int64_t found_ = 0;
  bool follows_damage_ = false;
};

}  // namespace vcap
