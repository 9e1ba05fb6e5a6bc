// SPDX-License-Identifier: Apache-2.0
// Tests of sets of rows, and of the frames that a slice must be fed so that its records are right.
#include <gmock/gmock.h>

#include <random>
#include <set>

#include "streams/slicing.hpp"
#include "support/operation_helpers.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::int64_t> written_out(const Rows& rows) {
  std::vector<std::int64_t> all;
  for (const RowRange& range : rows.ranges())
    for (std::int64_t row = range.begin; row < range.end; ++row) all.push_back(row);
  return all;
}

Rows rows_between(std::vector<RowRange> ranges) {
  Rows rows;
  for (const RowRange& range : ranges) rows.add(range);
  return rows;
}

TEST(Rows, AreASetInAnyOrderOfAdding) {
  std::mt19937 random(3);
  const auto below = [&](int bound) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(bound));
  };
  for (int round = 0; round < 500; ++round) {
    Rows rows;
    std::set<std::int64_t> expected;
    for (std::int64_t i = below(8); i > 0; --i) {
      const RowRange range{below(30), below(30)};
      rows.add(range);
      for (std::int64_t row = range.begin; row < range.end; ++row) expected.insert(row);
    }
    ASSERT_EQ(written_out(rows), std::vector(expected.begin(), expected.end()));
    EXPECT_EQ(rows.count(), static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(rows.empty(), expected.empty());
    for (std::size_t i = 1; i < rows.ranges().size(); ++i)
      EXPECT_LT(rows.ranges()[i - 1].end, rows.ranges()[i].begin) << "ranges must not touch";
    for (std::int64_t row = -1; row < 32; ++row) {
      EXPECT_EQ(rows.contains(row), expected.contains(row)) << row;
      const auto next = expected.lower_bound(row);
      EXPECT_EQ(rows.at_or_after(row),
                next == expected.end() ? std::nullopt : std::optional(*next));
    }
    std::set<std::int64_t> wider;
    for (const std::int64_t row : expected)
      for (std::int64_t near = row - 3; near <= row + 2; ++near)
        if (near >= 0 && near < 30) wider.insert(near);
    EXPECT_EQ(written_out(rows.widened(3, 2, 30)), std::vector(wider.begin(), wider.end()));
  }
}

TEST(Rows, AreCutIntoPartsOfAboutTheSameSize) {
  const Rows rows = rows_between({{0, 3}, {10, 20}, {30, 31}});  // 14 rows
  EXPECT_THAT(cut(rows, 1), ElementsAre(rows));
  EXPECT_THAT(cut(rows, 2),
              ElementsAre(rows_between({{0, 3}, {10, 14}}), rows_between({{14, 20}, {30, 31}})));
  EXPECT_THAT(cut(Rows(), 5), IsEmpty());
  for (const std::size_t parts : {3u, 4u, 5u, 13u, 14u, 99u}) {
    const std::vector<Rows> all = cut(rows, parts);
    EXPECT_EQ(all.size(), std::min<std::size_t>(parts, 14));
    Rows together;
    for (const Rows& part : all) {
      EXPECT_GE(part.count(), 14 / static_cast<std::int64_t>(all.size()));
      EXPECT_LE(part.count(), (13 + static_cast<std::int64_t>(all.size())) /
                                  static_cast<std::int64_t>(all.size()));
      together.add(part);
    }
    EXPECT_EQ(together, rows);
  }
}

TEST(Rows, AreCutAtTheNearestSeekPoint) {
  const auto every = [](std::int64_t frames) {
    return [frames](std::int64_t row) { return row - row % frames; };
  };
  const Rows rows({0, 100});  // cut at 25, 50 and 75
  EXPECT_THAT(cut(rows, 4, every(12)),
              ElementsAre(Rows({0, 24}), Rows({24, 48}), Rows({48, 72}), Rows({72, 100})));
  EXPECT_THAT(cut(rows, 4, every(12), 5),
              ElementsAre(Rows({0, 29}), Rows({29, 53}), Rows({53, 77}), Rows({77, 100})))
      << "each part is fed from a seek point on, with its warm-up";
  EXPECT_EQ(cut(rows, 4, every(13)),
            std::vector({Rows({0, 26}), Rows({26, 52}), Rows({52, 78}), Rows({78, 100})}))
      << "the nearest one is the next";
  EXPECT_EQ(cut(rows, 4, every(40)),
            std::vector({Rows({0, 25}), Rows({25, 50}), Rows({50, 80}), Rows({80, 100})}))
      << "no seek point is near enough to the first two cuts";
  EXPECT_EQ(cut(rows, 4, every(1)), cut(rows, 4));
  EXPECT_EQ(cut(rows, 4, every(10), 200), cut(rows, 4)) << "each part is fed from the beginning";
}

TEST(Rows, StayWholeWhenTheyAreCutAtSeekPoints) {
  std::mt19937 random(5);
  const auto below = [&](int bound) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(bound));
  };
  for (int round = 0; round < 300; ++round) {
    std::set<std::int64_t> keys{0};
    for (std::int64_t row = 0; row < 400; row += 1 + below(40)) keys.insert(row);
    const auto seek_point = [&keys](std::int64_t row) {
      EXPECT_GE(row, 0);
      EXPECT_LT(row, 400);
      return *std::prev(keys.upper_bound(row));
    };
    Rows rows;
    for (std::int64_t i = 1 + below(4); i > 0; --i) {
      const std::int64_t begin = below(400);
      rows.add({begin, begin + 1 + below(static_cast<int>(400 - begin))});
    }
    const std::int64_t lead = below(20);
    const auto parts = static_cast<std::size_t>(1 + below(12));
    const std::vector<Rows> even = cut(rows, parts);
    const std::vector<Rows> all = cut(rows, parts, seek_point, lead);
    ASSERT_EQ(all.size(), even.size());
    const std::int64_t quarter = rows.count() / static_cast<std::int64_t>(all.size()) / 4;
    Rows together;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(together.empty() || together.hull().end <= all[i].hull().begin);
      EXPECT_LE(std::abs(all[i].count() - even[i].count()), 2 * quarter);
      const std::int64_t begin = all[i].hull().begin;
      if (begin != even[i].hull().begin) {
        EXPECT_LE(std::abs(begin - even[i].hull().begin), quarter);
        EXPECT_TRUE(keys.contains(begin - lead)) << begin << " less " << lead;
      }
      together.add(all[i]);
    }
    EXPECT_EQ(together, rows);
  }
}

TEST(Rows, CanComeFromASampler) {
  EXPECT_EQ(rows_of(Sampler::all(), 7), Rows({0, 7}));
  EXPECT_EQ(rows_of(Sampler::stride(3), 7), rows_between({{0, 1}, {3, 4}, {6, 7}}));
  EXPECT_EQ(rows_of(Sampler::gather({0, 4, 5}), 7), rows_between({{0, 1}, {4, 6}}));
  EXPECT_THAT(
      [] {
        rows_of(Sampler::gather({0, 7}), 7);
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("7")));
  EXPECT_THAT(
      [] { rows_of(Sampler::repeat(2), 7); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("cannot repeat rows")));
}

CapsuleInfo with_warmup(CapsuleInfo info, std::optional<std::int64_t> warmup) {
  info.stream_state = make_stream_state<CountingState>();
  info.warmup = warmup;
  return info;
}

CapsuleInfo with_stencil(CapsuleInfo info, std::vector<int> offsets) {
  info.stencil = {std::move(offsets)};
  return info;
}

/// The compiled plan of these capsules in the given order, which must be that of a plan.
CompiledPlan compile(std::vector<CapsuleInfo> infos) {
  CompiledPlan compiled_plan;
  for (CapsuleInfo& info : infos) {
    const NodeDescription needs = info.input_type;
    auto capsule = make_capsule(std::move(info), give_back);
    compiled_plan.push_back({.slot = std::make_shared<CapsuleSlot>(
                                 std::move(capsule), QuarantinePolicy{}, nullptr, 0, nullptr),
                             .needs = needs});
  }
  return compiled_plan;
}

SliceRun only_run(const CompiledPlan& compiled_plan, Rows wanted, std::int64_t frames = 1000) {
  const Slice slice = SliceNeeds(compiled_plan).slice(wanted, frames);
  EXPECT_EQ(slice.results, wanted);
  EXPECT_EQ(slice.runs.size(), 1u);
  return slice.runs.at(0);
}

TEST(SliceNeeds, AreEmptyForStatelessCapsules) {
  const CompiledPlan compiled_plan = compile({detector_info("d", "x"), all_info("a", "x")});
  const SliceRun run = only_run(compiled_plan, rows_between({{10, 20}, {40, 41}}));
  EXPECT_EQ(run.fed, rows_between({{10, 20}, {40, 41}}))
      << "nothing is kept from one range to the next";
  EXPECT_EQ(run.called[0], run.fed);
  EXPECT_EQ(SliceNeeds(compiled_plan).lead(), 0);
}

TEST(SliceNeeds, AddUpIfCapsulesDependOnEachOther) {
  const CompiledPlan compiled_plan =
      compile({with_warmup(detector_info("d", "x"), 5), with_warmup(all_info("a", "x"), 7),
               with_stencil(all_info("s", "x"), {-2, 0, 3})});
  const SliceRun run = only_run(compiled_plan, Rows({100, 110}));
  EXPECT_EQ(run.called[2], Rows({100, 110}));
  EXPECT_EQ(run.called[1], Rows({100 - 2 - 7, 110 + 3}))
      << "the frames of the stencil, and a warm-up";
  EXPECT_EQ(run.called[0], Rows({100 - 2 - 7 - 5, 113}));
  EXPECT_EQ(run.fed, run.called[0]);
  const SliceNeeds needs(compiled_plan);
  EXPECT_EQ(needs.lead(), 14);
  EXPECT_EQ(needs.trail(), 3);
  EXPECT_EQ(needs.unbounded(), nullptr);
}

TEST(SliceNeeds, DoNotAddUpForIndependentCapsules) {
  const CompiledPlan compiled_plan = compile(
      {detector_info("slow", "x"), with_warmup(detector_info("d", "y"), 50),
       with_stencil(detector_info("s", "z"), {-1, 0, 4}), with_warmup(all_info("a", "x"), 20)});
  const SliceRun run = only_run(compiled_plan, Rows({100, 110}));
  EXPECT_EQ(run.called[0], Rows({80, 110}))
      << "not for the warm-up of a capsule that does not see its nodes";
  EXPECT_EQ(run.called[1], Rows({50, 110}));
  EXPECT_EQ(run.called[2], Rows({100, 110}));
  EXPECT_EQ(run.called[3], Rows({80, 110}));
  EXPECT_EQ(run.fed, Rows({50, 114}));
}

TEST(SliceNeeds, EndAtTheEndOfTheStream) {
  const CompiledPlan compiled_plan =
      compile({with_stencil(with_warmup(detector_info("d", "x"), 30), {-5, 5})});
  EXPECT_EQ(only_run(compiled_plan, Rows({10, 20}), 22).fed, Rows({0, 22}));
}

TEST(SliceNeeds, AreAllFramesBeforeForUnboundedState) {
  const CompiledPlan compiled_plan = compile({detector_info("d", "y"), detector_info("e", "x"),
                                              with_warmup(all_info("tracker", "x"), std::nullopt)});
  const SliceRun run = only_run(compiled_plan, rows_between({{50, 51}, {90, 91}}));
  EXPECT_EQ(run.fed, Rows({0, 91}));
  EXPECT_EQ(run.called[0], rows_between({{50, 51}, {90, 91}}));
  EXPECT_EQ(run.called[1], Rows({0, 91}));
  ASSERT_NE(SliceNeeds(compiled_plan).unbounded(), nullptr);
  EXPECT_EQ(*SliceNeeds(compiled_plan).unbounded(), "tracker");
}

TEST(SliceNeeds, AreSeparateRunsIfFramesBetweenAreNotFed) {
  const CompiledPlan compiled_plan = compile({with_warmup(detector_info("d", "x"), 3)});
  const Slice slice =
      SliceNeeds(compiled_plan).slice(rows_of(Sampler::gather({0, 10, 14, 25, 26, 27}), 40), 40);
  ASSERT_EQ(slice.runs.size(), 3u);
  EXPECT_EQ(slice.runs[0].fed, Rows({0, 1}));
  EXPECT_EQ(slice.runs[1].fed, Rows({7, 15}));
  EXPECT_EQ(slice.runs[2].fed, Rows({22, 28}));
  EXPECT_EQ(slice.fed().count(), 1 + 8 + 6);
}

}  // namespace
}  // namespace vcap::test
