// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/sources/row_range.hpp"

namespace vcap {

/// Chooses the rows of a sequence, their order, and how often each is given; modelled on Scanner's
/// stream samplers.
///
/// The result is a sequence of elements. Each element shows a row or is null; elements and rows
/// count from 0. The functions that make a sampler throw InvalidArgument, naming the value, if a
/// number is not possible: k below 1, an empty list, or ranges or rows that are empty, negative,
/// overlapping or not ascending. Thread safety: value.
class VCAP_EXPORT Sampler {
 public:
  /// Maps an element of the sampled sequence to its row.
  struct Element {
    /// The row that the element shows. For a null element: the row whose time it shares; if that
    /// row does not exist, neither does the element.
    std::int64_t row = 0;
    /// Repeats divide a row's duration into `parts`; `part`, from 0, is this element's.
    std::int64_t part = 0;
    std::int64_t parts = 1;
    bool is_null = false;

    bool operator==(const Element&) const = default;
  };

  /// How many times the repeats of a sampler together may give a row. Times are in nanoseconds, and
  /// those of the elements must differ.
  static constexpr std::int64_t kMostRepeats = 1'000'000;

  static Sampler all();
  /// Rows 0, k, 2k, …: ⌈n/k⌉ of n.
  static Sampler stride(std::int64_t k);
  /// The first row of each range and every k-th after it: ⌈(end − begin)/k⌉ rows.
  static Sampler strided_ranges(const std::vector<RowRange>& ranges, std::int64_t k);
  static Sampler ranges(const std::vector<RowRange>& ranges);
  /// Gives exactly these rows, which increase strictly.
  static Sampler gather(const std::vector<std::int64_t>& rows);
  /// Each row k times.
  static Sampler repeat(std::int64_t k);
  /// Element i·k shows row i; all others are null.
  static Sampler repeat_null(std::int64_t k);

  /// A sampler in which `next` samples the elements of this one. Throws InvalidArgument if `next`
  /// names elements that this one never has, or if rows are repeated more often than kMostRepeats.
  Sampler then(const Sampler& next) const;

  /// Whether it gives every row exactly once.
  bool is_all() const noexcept { return steps_.empty(); }
  /// Whether any element may be null.
  bool has_nulls() const noexcept;
  /// The number of elements if the sampler names its rows (ranges, gather) and the sequence has
  /// them all; `nullopt` if it names none, so that the number depends on the sequence.
  std::optional<std::int64_t> limit() const noexcept { return limit_; }
  /// The number of elements for a sequence of `rows` rows. Throws InvalidArgument naming a row that
  /// the sampler names but the sequence lacks, or if the number overflows.
  std::int64_t size(std::int64_t rows) const;
  /// Elements per row, apart from jumps: 1/k for a stride, k for a repeat.
  double rate() const noexcept;
  /// The element with this number, from 0, as if the sequence had no end; `nullopt` from limit()
  /// on.
  std::optional<Element> element(std::int64_t number) const;
  /// Whether an element continues the one before it: at an even stride, or in the same row. False
  /// for the first element, and after a jump: from one range to the next, or between gathered rows
  /// that are not neighbours.
  bool follows(std::int64_t number) const;

  bool operator==(const Sampler&) const = default;

 private:
  enum class Kind { stride, ranges, repeat, repeat_null };
  struct Step {
    Kind kind = Kind::stride;
    std::int64_t k = 1;
    std::vector<RowRange> ranges{};    ///< with jumps between them; k is their stride
    std::vector<std::int64_t> ends{};  ///< number of elements up to the end of each range

    std::int64_t size(std::int64_t rows) const;
    std::size_t range_of(std::int64_t element) const;
    std::int64_t row(std::int64_t element) const;
    bool operator==(const Step&) const = default;
  };

  static Sampler of(Kind kind, std::int64_t k);

  std::vector<Step> steps_{};  ///< each samples the elements of the step before it
  std::optional<std::int64_t> limit_{};
};

}  // namespace vcap
