// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/sampler.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSampledLengths[] = {0, 1, 2, 7, 100};

/// An element of the list that a sampler makes of a sequence.
struct NaiveElement {
  std::int64_t row = 0;
  bool is_null = false;
  bool follows = true;
};
using NaiveElements = std::vector<NaiveElement>;

NaiveElements naive_rows(std::int64_t count) {
  NaiveElements places(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = {.row = static_cast<std::int64_t>(i), .follows = i > 0};
  return places;
}

/// The elements with those numbers. One follows the one before it if their numbers are `step` apart
/// and all elements between them follow.
NaiveElements picked_naively(const NaiveElements& all, const std::vector<std::int64_t>& numbers,
                             std::int64_t step) {
  NaiveElements some;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    NaiveElement place = all.at(static_cast<std::size_t>(numbers[i]));
    place.follows = i > 0 && numbers[i] - numbers[i - 1] == step;
    for (std::int64_t k = i > 0 ? numbers[i - 1] + 1 : numbers[i]; k <= numbers[i]; ++k)
      place.follows = place.follows && all[static_cast<std::size_t>(k)].follows;
    some.push_back(place);
  }
  return some;
}

NaiveElements strided_naively(const NaiveElements& all, std::vector<RowRange> ranges,
                              std::int64_t k) {
  std::vector<std::int64_t> numbers;
  for (const RowRange& range : ranges)
    for (std::int64_t row = range.begin; row < range.end; row += k) numbers.push_back(row);
  return picked_naively(all, numbers, k);
}

NaiveElements repeated_naively(const NaiveElements& all, std::int64_t k, bool with_nulls) {
  NaiveElements places;
  for (const NaiveElement& place : all)
    for (std::int64_t i = 0; i < k; ++i)
      places.push_back({.row = place.row,
                        .is_null = place.is_null || (with_nulls && i > 0),
                        .follows = place.follows || i > 0});
  return places;
}

void expect_elements(const Sampler& sampler, std::int64_t rows, const NaiveElements& expected) {
  ASSERT_EQ(sampler.size(rows), static_cast<std::int64_t>(expected.size()));
  if (sampler.limit()) {
    EXPECT_EQ(*sampler.limit(), static_cast<std::int64_t>(expected.size()));
    EXPECT_FALSE(sampler.element(*sampler.limit()));
  }
  EXPECT_FALSE(sampler.element(-1));
  Sampler::Element before{.row = -1};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const auto element = sampler.element(number);
    ASSERT_TRUE(element) << "element " << i;
    EXPECT_EQ(element->row, expected[i].row) << "element " << i;
    EXPECT_EQ(element->is_null, expected[i].is_null) << "element " << i;
    EXPECT_EQ(sampler.follows(number), expected[i].follows) << "element " << i;
    EXPECT_TRUE(element->row > before.row ||
                (element->part > before.part && element->parts == before.parts))
        << "time must rise, element " << i;
    EXPECT_LT(element->part, element->parts) << "element " << i;
    before = *element;
  }
}

struct SamplerCase {
  const char* name;
  Sampler sampler;
  std::int64_t least;  ///< rows that a sequence must have
  std::function<NaiveElements(const NaiveElements&)> naive;
};

std::ostream& operator<<(std::ostream& out, const SamplerCase& one) { return out << one.name; }

SamplerCase strided_case(const char* name, std::int64_t k) {
  return {name, Sampler::stride(k), 0, [k](const NaiveElements& all) {
            return all.empty()
                       ? all
                       : strided_naively(all, {{0, static_cast<std::int64_t>(all.size())}}, k);
          }};
}

SamplerCase ranges_case(const char* name, std::vector<RowRange> ranges, std::int64_t k) {
  return {name, Sampler::strided_ranges(ranges, k), ranges.back().end,
          [=](const NaiveElements& all) { return strided_naively(all, ranges, k); }};
}

SamplerCase gather_case(const char* name, std::vector<std::int64_t> rows) {
  return {name, Sampler::gather(rows), rows.back() + 1,
          [=](const NaiveElements& all) { return picked_naively(all, rows, 1); }};
}

SamplerCase repeat_case(const char* name, std::int64_t k, bool with_nulls) {
  return {name, with_nulls ? Sampler::repeat_null(k) : Sampler::repeat(k), 0,
          [=](const NaiveElements& all) { return repeated_naively(all, k, with_nulls); }};
}

class EverySampler : public testing::TestWithParam<SamplerCase> {};

TEST_P(EverySampler, EqualsAListOfItsRows) {
  const SamplerCase& one = GetParam();
  for (const std::int64_t rows : kSampledLengths) {
    SCOPED_TRACE(rows);
    if (rows >= one.least)
      expect_elements(one.sampler, rows, one.naive(naive_rows(rows)));
    else
      EXPECT_THAT([&] { one.sampler.size(rows); },
                  ThrowsError<InvalidArgument>(
                      ErrorCode::invalid_argument,
                      HasSubstr("row " + std::to_string(one.least - 1) + " does not exist")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Samplers, EverySampler,
    testing::Values(
        SamplerCase{"All", Sampler::all(), 0, [](const NaiveElements& all) { return all; }},
        strided_case("StrideOfOne", 1), strided_case("StrideOfTwo", 2),
        strided_case("StrideOfThree", 3), strided_case("StrideOfSeven", 7),
        strided_case("StrideOfAHundred", 100), strided_case("StrideBeyondAll", 101),
        ranges_case("OneRow", {{0, 1}}, 1), ranges_case("TheSecondRow", {{1, 2}}, 1),
        ranges_case("TheFirstSeven", {{0, 7}}, 1), ranges_case("TheWholeHundred", {{0, 100}}, 1),
        ranges_case("TheLastRow", {{99, 100}}, 1), ranges_case("OneTooMany", {{0, 101}}, 1),
        ranges_case("TwoRanges", {{0, 2}, {5, 7}}, 1),
        ranges_case("RangesThatTouch", {{0, 3}, {3, 7}}, 1),
        ranges_case("PhaseThatRestarts", {{0, 7}, {7, 20}, {20, 21}, {90, 100}}, 3),
        ranges_case("PhaseThatGoesOn", {{0, 6}, {6, 20}, {21, 22}}, 3),
        ranges_case("PhaseOverAHole", {{1, 3}, {6, 9}, {12, 30}}, 5),
        ranges_case("StrideBeyondItsRanges", {{0, 2}, {3, 7}}, 10), gather_case("TheFirst", {0}),
        gather_case("TheFirstTwo", {0, 1}), gather_case("EverySecond", {0, 2, 4, 6}),
        gather_case("Scattered", {0, 10, 25, 26, 27, 99}), gather_case("RowHundred", {3, 100}),
        repeat_case("Once", 1, false), repeat_case("Twice", 2, false),
        repeat_case("SevenTimes", 7, false), repeat_case("NoNulls", 1, true),
        repeat_case("OneNull", 2, true), repeat_case("SixNulls", 7, true)),
    testing::PrintToStringParamName());

/// A random step, and the list that it makes of a sequence of that length.
SamplerCase any_step(std::mt19937& random, std::int64_t rows) {
  const auto draw = [&random](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  std::vector<std::int64_t> some(static_cast<std::size_t>(rows));
  std::iota(some.begin(), some.end(), 0);
  std::erase_if(some, [&](std::int64_t) { return draw(0, 2) == 0; });
  const auto kind = draw(0, some.size() < 2 ? 2 : 4);
  if (kind == 0) return strided_case("stride", draw(1, 4));
  if (kind <= 2) return repeat_case("repeat", draw(1, 3), kind == 2);
  if (kind == 3) return gather_case("gather", some);
  std::vector<RowRange> ranges;
  for (std::size_t i = 1; i < some.size(); i += static_cast<std::size_t>(draw(1, 2)))
    ranges.push_back({some[i - 1], some[i]});
  return ranges_case("ranges", ranges, draw(1, 4));
}

TEST(Sampler, EqualsListsInRandomChains) {
  std::mt19937 random(20);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t rows =
        kSampledLengths[static_cast<std::size_t>(round) % std::size(kSampledLengths)];
    Sampler chain = Sampler::all();
    NaiveElements places = naive_rows(rows);
    std::string names = std::to_string(rows) + " rows";
    for (int steps = round % 4; steps > 0 && places.size() < 2000; --steps) {
      const SamplerCase step = any_step(random, static_cast<std::int64_t>(places.size()));
      chain = chain.then(step.sampler);
      places = step.naive(places);
      names += std::string(", ") + step.name;
    }
    SCOPED_TRACE(names);
    expect_elements(chain, rows, places);
    if (HasFailure()) break;
  }
}

TEST(Sampler, NamesAnInvalidValue) {
  const auto expect_refused = [](const std::function<void()>& make, const char* named) {
    EXPECT_THAT(make, ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(named)));
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  expect_refused([] { Sampler::stride(0); }, "a stride of 0 is below 1");
  expect_refused([] { Sampler::stride(-3); }, "a stride of -3");
  expect_refused([] { Sampler::repeat(0); }, "a repeat of 0");
  expect_refused([] { Sampler::repeat(1'000'001); }, "1000001 is above 1000000");
  expect_refused([] { Sampler::repeat_null(-1); }, "nulls of -1");
  expect_refused([] { Sampler::repeat(2000).then(Sampler::repeat_null(1000)); }, "of 2000000");
  expect_refused([] { Sampler::strided_ranges({{0, 4}}, 0); }, "a stride of 0");
  expect_refused([] { Sampler::ranges({}); }, "no range is given");
  expect_refused([] { Sampler::ranges({{3, 3}}); }, "the range 3 to 3 is empty");
  expect_refused([] { Sampler::ranges({{5, 3}}); }, "the range 5 to 3 is empty");
  expect_refused([] { Sampler::ranges({{-2, 3}}); }, "the range -2 to 3 begins before row 0");
  expect_refused([] { Sampler::ranges({{4, 6}, {0, 2}}); }, "the range 0 to 2 begins before");
  expect_refused([] { Sampler::ranges({{0, 4}, {3, 6}}); }, "the range 0 to 4; ranges must ascend");
  expect_refused([] { Sampler::gather({}); }, "no row to gather is given");
  expect_refused([] { Sampler::gather({-1}); }, "the row -1 to gather is below 0");
  expect_refused([] { Sampler::gather({1, 4, 4}); }, "the row 4 to gather follows row 4");
  expect_refused([] { Sampler::gather({1, 4, 2}); }, "the row 2 to gather follows row 4");
  expect_refused([] { Sampler::gather({kMost}); }, "beyond the end of every sequence");
  expect_refused(
      [] {
        Sampler::gather({1, 2}).then(Sampler::gather({2}));
      },
      "row 2 does not exist; there are only rows 0 to 1");
  expect_refused([] { Sampler::all().size(-1); }, "-1 rows");
  expect_refused([] { Sampler::gather({4}).size(0); }, "there are no rows");
  expect_refused([] { Sampler::gather({4}).size(1); }, "there is only row 0");
  expect_refused([] { Sampler::repeat(3).size(kMost / 2); }, "do not fit into a 64-bit number");
}

TEST(Sampler, CountsUpToTheLargestNumber) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Sampler::stride(kMost).size(kMost), 1);
  EXPECT_EQ(Sampler::stride(2).size(kMost), kMost / 2 + 1);
  EXPECT_EQ(Sampler::stride(kMost).element(1)->row, kMost);
  EXPECT_EQ(Sampler::stride(kMost).element(2)->row, kMost) << "no sequence has this row";
  const Sampler wide = Sampler::strided_ranges({{0, 1}, {1, kMost}}, kMost - 1);
  EXPECT_EQ(wide.size(kMost), 2);
  EXPECT_EQ(Sampler::ranges({{0, kMost}}).element(kMost - 1)->row, kMost - 1);
}

TEST(Sampler, DividesTheTimeOfARowAmongItsElements) {
  const Sampler sampler = Sampler::repeat(2).then(Sampler::repeat_null(3));
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(sampler.element(i),
              (Sampler::Element{.row = i / 6, .part = i % 6, .parts = 6, .is_null = i % 3 != 0}));
}

TEST(Sampler, EqualsASamplerOfTheSameRows) {
  EXPECT_EQ(Sampler::stride(1), Sampler::all());
  EXPECT_TRUE(Sampler::repeat(1).is_all());
  EXPECT_EQ(Sampler::gather({3, 4, 5, 9}), Sampler::ranges({{3, 4}, {4, 6}, {9, 10}}));
  EXPECT_NE(Sampler::repeat(2), Sampler::repeat_null(2));
  EXPECT_FALSE(Sampler::gather({0}).is_all());
}

}  // namespace
}  // namespace vcap::test
