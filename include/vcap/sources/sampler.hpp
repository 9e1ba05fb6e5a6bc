// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/sources/row_range.hpp"

namespace vcap {

/// Which rows of a sequence are given, in which order and how often: Scanner's stream samplers.
///
/// What it gives is a sequence of elements, each of which shows a row or is null; both count from
/// 0. The functions that make one throw InvalidArgument, naming the value, where a number is not
/// possible: a k below 1, ranges or rows that do not ascend, overlap, are empty or negative, or an
/// empty list. Thread safety: value.
class VCAP_EXPORT Sampler {
 public:
  /// Where an element of the sampled sequence is in the one that is sampled.
  struct Element {
    /// The row it shows; of a null element the row whose time it shares, and without which it is
    /// not there either.
    std::int64_t row = 0;
    /// Repeats share out a row's time: this is the part of that number (from 0), of so many.
    std::int64_t part = 0;
    std::int64_t parts = 1;
    bool is_null = false;

    bool operator==(const Element&) const = default;
  };

  /// How often all repeats of a sampler together may give a row: times are nanoseconds, and those
  /// of the elements have to differ.
  static constexpr std::int64_t kMostRepeats = 1'000'000;

  static Sampler all();
  /// Rows 0, k, 2k, …: ⌈n/k⌉ of n.
  static Sampler stride(std::int64_t k);
  /// Of each range its first row and every k-th after it: ⌈(end − begin)/k⌉ rows.
  static Sampler strided_ranges(const std::vector<RowRange>& ranges, std::int64_t k);
  static Sampler ranges(const std::vector<RowRange>& ranges);
  /// These rows, which rise strictly.
  static Sampler gather(const std::vector<std::int64_t>& rows);
  /// Each row k times.
  static Sampler repeat(std::int64_t k);
  /// Element i·k shows row i, and the others are null.
  static Sampler repeat_null(std::int64_t k);

  /// Another one, in which `next` samples what this one gives. Throws InvalidArgument where it
  /// names elements that this one never has, or rows come more often than kMostRepeats.
  Sampler then(const Sampler& next) const;

  /// Whether it gives every row, once.
  bool is_all() const noexcept { return steps_.empty(); }
  /// Whether any of its elements may be null.
  bool has_nulls() const noexcept;
  /// How many elements it gives of any sequence that has all the rows it names; nothing where it
  /// names none, and goes on as long as the rows do.
  std::optional<std::int64_t> limit() const noexcept { return limit_; }
  /// How many elements it gives of so many rows. Throws InvalidArgument naming a row that it asks
  /// for and that is not among them, or a number of elements that cannot be counted.
  std::int64_t size(std::int64_t rows) const;
  /// How many elements it gives for a row where it goes on evenly: 1/k of a stride, k of a repeat.
  double rate() const noexcept;
  /// Of an element from 0 on, however many rows there are; nothing from limit() on.
  std::optional<Element> element(std::int64_t number) const;
  /// Whether an element goes on from the one before it: at an even stride, or in the same row.
  /// Otherwise there is none before it, or a jump between the two, from one range to the next, or
  /// between gathered rows that are no neighbours.
  bool follows(std::int64_t number) const;

  bool operator==(const Sampler&) const = default;

 private:
  enum class Kind { stride, ranges, repeat, repeat_null };
  struct Step {
    Kind kind = Kind::stride;
    std::int64_t k = 1;
    std::vector<RowRange> ranges{};    ///< between which there are jumps; k is their stride
    std::vector<std::int64_t> ends{};  ///< how many elements there are up to the end of each

    std::int64_t size(std::int64_t rows) const;
    std::size_t range_of(std::int64_t element) const;
    std::int64_t row(std::int64_t element) const;
    bool operator==(const Step&) const = default;
  };

  static Sampler of(Kind kind, std::int64_t k);

  std::vector<Step> steps_{};  ///< each samples what the one before it gives
  std::optional<std::int64_t> limit_{};
};

}  // namespace vcap
