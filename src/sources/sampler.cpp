// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/sampler.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::int64_t kBeyondAll = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse_sampler(const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument, "sampler: " + what);
}

void check_k(const char* name, std::int64_t k, std::int64_t most) {
  if (k < 1) refuse_sampler(std::string(name) + " of " + std::to_string(k) + " is below 1");
  if (k > most)
    refuse_sampler(std::string(name) + " of " + std::to_string(k) + " is above " +
                   std::to_string(most));
}

std::string text_of(const RowRange& range) {
  return std::to_string(range.begin) + " to " + std::to_string(range.end);
}

void check_ranges(const std::vector<RowRange>& ranges) {
  if (ranges.empty()) refuse_sampler("no range is given; give at least one");
  const RowRange* before = nullptr;
  for (const RowRange& range : ranges) {
    if (range.begin < 0) refuse_sampler("the range " + text_of(range) + " begins before row 0");
    if (range.end <= range.begin)
      refuse_sampler("the range " + text_of(range) +
                     " is empty; its end is not included and must be after its begin");
    if (before && range.begin < before->end)
      refuse_sampler("the range " + text_of(range) + " begins before the end of the range " +
                     text_of(*before) + "; ranges must ascend and not overlap");
    before = &range;
  }
}

/// One range for each row; merged() joins neighbours later.
std::vector<RowRange> to_ranges(const std::vector<std::int64_t>& rows) {
  if (rows.empty()) refuse_sampler("no row to gather is given; give at least one");
  if (rows.front() < 0)
    refuse_sampler("the row " + std::to_string(rows.front()) + " to gather is below 0");
  if (const auto row = std::ranges::adjacent_find(rows, std::greater_equal<>()); row != rows.end())
    refuse_sampler("the row " + std::to_string(row[1]) + " to gather follows row " +
                   std::to_string(row[0]) + "; rows must increase");
  if (rows.back() == kBeyondAll)
    refuse_sampler("the row " + std::to_string(rows.back()) +
                   " to gather is beyond the end of every sequence");
  std::vector<RowRange> ranges;
  ranges.reserve(rows.size());
  for (const std::int64_t row : rows) ranges.push_back({row, row + 1});
  return ranges;
}

/// The number of rows that a stride leaves of `rows`.
std::int64_t strided(std::int64_t rows, std::int64_t k) {
  return rows == 0 ? 0 : (rows - 1) / k + 1;
}

/// The same rows in as few ranges as possible: ranges that continue an even stride are joined.
std::vector<RowRange> merged(const std::vector<RowRange>& ranges, std::int64_t k) {
  std::vector<RowRange> merged;
  for (const RowRange& range : ranges) {
    if (!merged.empty()) {
      RowRange& before = merged.back();
      const std::int64_t last = before.begin + (strided(before.end - before.begin, k) - 1) * k;
      if (range.begin - last == k) {
        before.end = range.end;
        continue;
      }
    }
    merged.push_back(range);
  }
  return merged;
}

}  // namespace

std::int64_t Sampler::Step::size(std::int64_t rows) const {
  switch (kind) {
    case Kind::stride:
      return strided(rows, k);
    case Kind::ranges:
      if (ranges.back().end > rows)
        refuse_sampler("row " + std::to_string(ranges.back().end - 1) + " does not exist; " +
                       (rows == 0   ? "there are no rows"
                        : rows == 1 ? "there is only row 0"
                                    : "there are only rows 0 to " + std::to_string(rows - 1)));
      return ends.back();
    case Kind::repeat:
    case Kind::repeat_null:
      break;
  }
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(rows, k, &elements))
    refuse_sampler(std::to_string(rows) + " rows, each " + std::to_string(k) +
                   " times, do not fit into a 64-bit number");
  return elements;
}

std::size_t Sampler::Step::range_of(std::int64_t element) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends, element) - ends.begin());
}

/// The row that the element shows, or whose time it shares.
std::int64_t Sampler::Step::row(std::int64_t element) const {
  switch (kind) {
    case Kind::stride: {
      std::int64_t row = 0;
      return __builtin_mul_overflow(element, k, &row) ? kBeyondAll : row;
    }
    case Kind::ranges: {
      const std::size_t range = range_of(element);
      return ranges[range].begin + (element - (range == 0 ? 0 : ends[range - 1])) * k;
    }
    case Kind::repeat:
    case Kind::repeat_null:
      break;
  }
  return element / k;
}

Sampler Sampler::all() { return {}; }

Sampler Sampler::of(Kind kind, std::int64_t k) {
  Sampler sampler;
  if (k > 1) sampler.steps_.push_back({.kind = kind, .k = k});
  return sampler;
}

Sampler Sampler::stride(std::int64_t k) {
  check_k("a stride", k, kBeyondAll);
  return of(Kind::stride, k);
}

Sampler Sampler::repeat(std::int64_t k) {
  check_k("a repeat", k, kMostRepeats);
  return of(Kind::repeat, k);
}

Sampler Sampler::repeat_null(std::int64_t k) {
  check_k("a repeat with nulls", k, kMostRepeats);
  return of(Kind::repeat_null, k);
}

Sampler Sampler::strided_ranges(const std::vector<RowRange>& ranges, std::int64_t k) {
  check_k("a stride", k, kBeyondAll);
  check_ranges(ranges);
  Step step{.kind = Kind::ranges, .k = k, .ranges = merged(ranges, k)};
  std::int64_t elements = 0;
  for (const RowRange& range : step.ranges)
    step.ends.push_back(elements += strided(range.end - range.begin, k));
  Sampler sampler;
  sampler.steps_.push_back(std::move(step));
  sampler.limit_ = elements;
  return sampler;
}

Sampler Sampler::ranges(const std::vector<RowRange>& ranges) { return strided_ranges(ranges, 1); }

Sampler Sampler::gather(const std::vector<std::int64_t>& rows) { return ranges(to_ranges(rows)); }

Sampler Sampler::then(const Sampler& next) const {
  Sampler both = *this;
  both.steps_.insert(both.steps_.end(), next.steps_.begin(), next.steps_.end());
  both.limit_ = limit_ ? next.size(*limit_) : next.limit_;
  std::int64_t repeats = 1;
  for (const Step& step : both.steps_) {
    if (step.kind != Kind::repeat && step.kind != Kind::repeat_null) continue;
    repeats *= step.k;  // no overflow: neither factor is above kMostRepeats
    check_k("a product of nested repeats", repeats, kMostRepeats);
  }
  return both;
}

std::int64_t Sampler::size(std::int64_t rows) const {
  if (rows < 0) refuse_sampler("a number of " + std::to_string(rows) + " rows is below 0");
  for (const Step& step : steps_) rows = step.size(rows);
  return rows;
}

bool Sampler::has_nulls() const noexcept {
  return std::ranges::any_of(
      steps_, [](const Step& step) { return step.kind == Kind::repeat_null && step.k > 1; });
}

double Sampler::rate() const noexcept {
  double rate = 1;
  for (const Step& step : steps_) {
    const bool repeats = step.kind == Kind::repeat || step.kind == Kind::repeat_null;
    const auto k = static_cast<double>(step.k);
    rate = repeats ? rate * k : rate / k;
  }
  return rate;
}

std::optional<Sampler::Element> Sampler::element(std::int64_t number) const {
  if (number < 0 || (limit_ && number >= *limit_)) return std::nullopt;
  Element element{.row = number};
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->kind == Kind::repeat || step->kind == Kind::repeat_null) {
      const std::int64_t part = element.row % step->k;
      element.part += part * element.parts;
      element.parts *= step->k;
      element.is_null = element.is_null || (step->kind == Kind::repeat_null && part != 0);
    }
    element.row = step->row(element.row);
  }
  return element;
}

bool Sampler::follows(std::int64_t number) const {
  if (number < 1 || (limit_ && number >= *limit_)) return false;
  std::int64_t before = number - 1;
  for (auto step = steps_.rbegin(); step != steps_.rend() && before != number; ++step) {
    if (step->kind == Kind::ranges && step->range_of(before) != step->range_of(number))
      return false;
    before = step->row(before);
    number = step->row(number);
  }
  return true;
}

}  // namespace vcap
