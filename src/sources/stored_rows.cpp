// SPDX-License-Identifier: Apache-2.0
#include "sources/stored_rows.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// Used if the source has no frame rate.
constexpr double kRateOfRows = 25;

/// The first picture at or after `time`; the index's size if there is none.
std::int64_t picture_at(const StoredIndex& index, nanoseconds time) {
  std::int64_t least = 0;
  for (std::int64_t most = index.size(); least < most;) {
    const std::int64_t middle = least + (most - least) / 2;
    if (index.time(middle) < time)
      least = middle + 1;
    else
      most = middle;
  }
  return least;
}

}  // namespace

RowRange pictures_left(const StoredIndex& index, const SourceOptions& options) {
  return {picture_at(index, options.start),
          options.end ? picture_at(index, *options.end) : index.size()};
}

StoredRows::StoredRows(std::unique_ptr<StoredFrames> frames, const SourceOptions& options,
                       std::stop_token stop)
    : frames_(std::move(frames)), options_(options), stop_(std::move(stop)) {
  const double rate = frames_->info().frames_per_second;
  nominal_duration_ = nanoseconds(std::llround(1e9 / (rate > 0 ? rate : kRateOfRows)));
}

std::shared_ptr<const StoredIndex> StoredRows::index() {
  if (is_not_as_indexed_) return nullptr;
  return index_ ? index_ : frames_->index();
}

void StoredRows::use_index(bool falling_back) {
  index_ = index();
  if (!index_) return;
  falls_back_ = falling_back;
  pictures_ = pictures_left(*index_, options_);
}

std::optional<std::int64_t> StoredRows::size() const {
  return index_ ? std::optional(pictures_.end - pictures_.begin) : std::nullopt;
}

bool StoredRows::go_to(std::int64_t row, std::optional<std::int64_t> following) {
  follows_damage_ = false;
  if (row == row_) return true;
  if (!index_) return go_through(row);
  try {
    return go_by_index(row, following);
  } catch (const SourceError& error) {
    if (!falls_back_ || error.code() != ErrorCode::source_not_as_indexed) throw;
    log(LogLevel::warning, error.what());
  }
  is_not_as_indexed_ = true;
  index_ = nullptr;
  row_.reset();
  return go_through(row);
}

bool StoredRows::go_by_index(std::int64_t row, std::optional<std::int64_t> following) {
  const std::int64_t rows = pictures_.end - pictures_.begin;
  if (row >= rows) {
    found_ = rows;
    if (rows > 0) last_time_ = index_->time(pictures_.end - 1);
    return at_end();
  }
  if (following)
    following = *following < rows ? std::optional(pictures_.begin + *following) : std::nullopt;
  if (!frames_->go_to(pictures_.begin + row, following)) return at_end();
  row_ = row;
  last_time_ = frames_->time();
  return true;
}

bool StoredRows::go_through(std::int64_t row) {
  if ((!row_ || row < *row_) && !begin()) return at_end();
  while (*row_ < row)
    if (!step()) return at_end();
  return true;
}

bool StoredRows::begin() {
  found_ = 0;
  if (stop_.stop_requested()) return false;
  const bool is_there = frames_->seek(options_.start);
  broken_.add(frames_->take_broken());
  if (!is_there || is_past_end()) return false;
  row_ = 0;
  found_ = 1;
  last_time_ = frames_->time();
  return true;
}

bool StoredRows::step() {
  if (stop_.stop_requested()) return false;
  const bool is_there = frames_->next();
  broken_.add(frames_->take_broken());
  if (!is_there || is_past_end()) return false;
  ++*row_;
  ++found_;
  last_time_ = frames_->time();
  follows_damage_ = follows_damage_ || frames_->follows_damage();
  return true;
}

bool StoredRows::at_end() {
  row_.reset();
  return false;
}

nanoseconds StoredRows::duration() const {
  const std::int64_t next = index_ && row_ ? pictures_.begin + *row_ + 1 : 0;
  if (next == 0 || next >= index_->size()) return nominal_duration_;
  return index_->time(next) - frames_->time();
}

}  // namespace vcap
