// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "sources/stored_frames.hpp"
#include "vcap/sources/row_range.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// The pictures of an index from `start` to `end`.
RowRange pictures_left(const StoredIndex& index, const SourceOptions& options);

/// The pictures of a stored source from `start` to `end`, as rows from 0. One is the current row
/// after go_to() has returned true. Rows are reached one by one or, with an index, by skipping what
/// lies between. Thread safety: thread-compatible.
class StoredRows {
 public:
  StoredRows(std::unique_ptr<StoredFrames> frames, const SourceOptions& options,
             std::stop_token stop);

  SourceInfo info() const { return frames_->info(); }
  /// The index, if there is one and it was not found wrong; otherwise null. Throws SourceError.
  std::shared_ptr<const StoredIndex> index();
  /// As StoredFrames::restore_index().
  bool restore_index(std::string_view saved) { return frames_->restore_index(saved); }
  /// From now on, rows are reached by the index, if there is one. If the index turns out to be
  /// wrong, go_to() throws source_not_as_indexed. With `falling_back` it logs that instead, and
  /// rows are reached one by one from there on.
  void use_index(bool falling_back);
  /// The number of rows; `nullopt` if only reading them all shows it.
  std::optional<std::int64_t> size() const;

  /// Goes forward or back to a row; false if there is none, or if stopped. `following`: the row
  /// that is needed after it, if any. Throws SourceError.
  bool go_to(std::int64_t row, std::optional<std::int64_t> following);
  /// The number of rows found, after go_to() has returned false without being stopped.
  std::int64_t found() const noexcept { return found_; }

  // The current row.
  std::chrono::nanoseconds time() const { return frames_->time(); }
  /// Until the next row; without an index, from the frame rate.
  std::chrono::nanoseconds duration() const;
  /// Whether damage was found on the way from the previous row.
  bool follows_damage() const noexcept { return follows_damage_; }
  cv::Mat picture() { return frames_->picture(); }
  std::string file() const { return frames_->file(); }

  /// The pictures that could not be decoded among those that were read one by one.
  const BrokenPictures& broken() const noexcept { return broken_; }
  /// Whether use_index() takes no time.
  bool has_ready_index() const { return frames_->has_ready_index(); }

  /// The end of the last row that was reached.
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
  std::shared_ptr<const StoredIndex> index_;  ///< used to reach rows; null: one by one
  RowRange pictures_{};                       ///< the pictures of the index that are the rows
  bool falls_back_ = false;
  bool is_not_as_indexed_ = false;
  std::optional<std::int64_t> row_;  ///< the current one; `nullopt` before the first and at the end
  std::chrono::nanoseconds last_time_{0};
  std::int64_t found_ = 0;
  BrokenPictures broken_{};
  bool follows_damage_ = false;
};

}  // namespace vcap
