// SPDX-License-Identifier: Apache-2.0
#include "streams/intake.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "streams/machine_helpers.hpp"
#include "streams/stream_account.hpp"
#include "support/every_schedule.hpp"

namespace vcap::test {
namespace {

using Drops = std::map<std::string, std::int64_t>;

ReadFrame frame_of(std::int64_t index, Discontinuity discontinuity = Discontinuity::none) {
  ReadFrame read;
  read.frame.index = index;
  read.frame.discontinuity = discontinuity;
  return read;
}

/// An intake whose pipeline allows `slots` frames beyond the first of each stream; 0: no bound.
struct Subject {
  explicit Subject(Intake::Rules rules, std::size_t slots = 0)
      : limiter(slots), intake(rules, limiter, account, nullptr) {}

  Drops drops() const { return account.report({}).drops; }
  Intake::Outcome accept(ReadFrame read) { return intake.accept(std::move(read), dropped); }
  std::vector<std::int64_t> begin_all() {
    std::vector<std::int64_t> begun;
    while (const auto read = intake.begin()) begun.push_back(read->frame.index);
    return begun;
  }

  InFlightLimiter limiter;
  StreamAccount account{"stream"};
  Intake intake;
  Intake::Dropped dropped{};
};

struct OverloadCase {
  OverflowPolicy overflow;
  std::size_t bound;
  std::int64_t keep_every;
  std::vector<std::int64_t> begun;
  Drops drops;
};

TEST(Intake, DropsFramesByItsPolicyIfNoFrameBegins) {
  using enum OverflowPolicy;
  const OverloadCase cases[] = {
      {wait, 2, 1, {0, 1}, {}},  // the others wait; its stream would not have read them
      {drop_newest, 2, 1, {0, 1}, {{"overload", 3}}},
      {drop_oldest, 2, 1, {3, 4}, {{"overload", 3}}},
      {drop_newest, 2, 2, {0, 2}, {{"overload", 1}, {"skipped", 2}}},
      {drop_oldest, 1, 2, {4}, {{"overload", 2}, {"skipped", 2}}},
      {wait, 5, 3, {0, 3}, {{"skipped", 3}}},
  };
  for (const OverloadCase& one : cases) {
    SCOPED_TRACE(testing::Message() << "policy " << static_cast<int>(one.overflow) << ", bound "
                                    << one.bound << ", one of " << one.keep_every);
    Subject subject(
        {.overflow = one.overflow, .frames_in_flight = one.bound, .keep_every = one.keep_every});
    for (std::int64_t index = 0; index < 5; ++index) subject.accept(frame_of(index));
    EXPECT_EQ(subject.begin_all(), one.begun);
    EXPECT_EQ(subject.drops(), one.drops);
    EXPECT_EQ(subject.intake.frames_read(), 5);
  }
}

TEST(Intake, ReportsDropsWithTheNextFrame) {
  Subject subject({.overflow = OverflowPolicy::drop_oldest, .frames_in_flight = 1});
  subject.accept(frame_of(0, Discontinuity::start));
  subject.accept(frame_of(1, Discontinuity::gap));
  subject.accept(frame_of(2));
  const auto read = subject.intake.begin();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->frame.index, 2);
  ASSERT_EQ(read->before.drops.size(), 2u);
  EXPECT_EQ(read->before.drops[0].frame_index, 0);
  EXPECT_EQ(read->before.drops[1].frame_index, 1);
  EXPECT_TRUE(read->before.discontinuities.contains(Discontinuity::start));
  EXPECT_TRUE(read->before.discontinuities.contains(Discontinuity::gap));
}

TEST(Intake, ListsAThousandDropsOneByOneAndCountsTheRest) {
  Subject subject({.overflow = OverflowPolicy::drop_oldest, .frames_in_flight = 1});
  for (std::int64_t index = 0; index <= 1500; ++index) subject.accept(frame_of(index));
  const auto read = subject.intake.begin();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->before.drops.size(), DroppedFrames::kMostListed);
  std::int64_t listed = 0;
  for (const FrameRecord::Drop& drop : read->before.drops) listed += drop.count;
  EXPECT_EQ(listed, 1500);
}

TEST(Intake, AllowsFramesThatWaitForLaterOnesBeyondTheBound) {
  Subject subject({.frames_in_flight = 2}, 1);
  subject.intake.set_look_ahead(3);
  std::int64_t index = 0;
  for (; subject.intake.has_room() && subject.intake.reserve(); ++index)
    subject.accept(frame_of(index));
  EXPECT_EQ(index, 5);
}

TEST(Intake, RefusesFramesAfterAFailure) {
  Subject subject({.frames_in_flight = 4});
  EXPECT_EQ(subject.accept(frame_of(0)), Intake::Outcome::kept);
  subject.intake.fail(subject.dropped);
  EXPECT_EQ(subject.accept(frame_of(1)), Intake::Outcome::refused);
  EXPECT_FALSE(subject.intake.begin());
  EXPECT_EQ(subject.drops(), (Drops{{"stream_failed", 2}}));
}

/// Every order in which frames are read, begun and delivered, and in which the stream fails.
TEST(Intake, GivesOutOrDropsEachFrameOnceInEverySchedule) {
  static constexpr std::int64_t kFrames = 4;
  static constexpr std::size_t kSlots = 1;
  std::size_t schedules = 0;
  using enum OverflowPolicy;
  for (const OverflowPolicy overflow : {wait, drop_oldest, drop_newest}) {
    schedules += run_every_schedule([overflow](Choices& choices) {
      Subject subject({.overflow = overflow, .frames_in_flight = 2}, kSlots);
      Intake& intake = subject.intake;
      std::int64_t read = 0;
      bool failed = false;
      bool refused = false;
      std::set<std::int64_t> begun;
      std::size_t running = 0;
      std::int64_t listed = 0;
      const auto may_read = [&] {
        return read < kFrames && !refused && (overflow != wait || intake.has_room());
      };
      const auto accept = [&] {
        if (overflow == wait && !intake.reserve()) return;  // its stream would wait
        refused = subject.accept(frame_of(read++)) == Intake::Outcome::refused;
        EXPECT_TRUE(!refused || failed);
      };
      const auto begin = [&] {
        const auto next = intake.begin();
        ASSERT_TRUE(next);
        EXPECT_TRUE(begun.insert(next->frame.index).second);
        EXPECT_EQ(*begun.rbegin(), next->frame.index) << "out of order";
        for (const FrameRecord::Drop& drop : next->before.drops) listed += drop.count;
        ++running;
      };
      std::size_t idle = 0;  // reads that found no slot
      std::vector<Event> events;
      do {
        EXPECT_EQ(intake.in_flight(), intake.waiting() + running);
        // With `drop_oldest`, the newest frame may wait beyond the bound.
        EXPECT_LE(intake.in_flight(), overflow == drop_oldest ? 3u : 2u);
        events = {{may_read() && idle < 2,
                   [&] {
                     const std::int64_t before = read;
                     accept();
                     if (read == before) ++idle;
                   }},
                  {!intake.is_empty() && intake.begun() < 2, begin},
                  {running > 0,
                   [&] {
                     --running;
                     idle = 0;
                     intake.end();
                   }},
                  {!failed && read == 2, [&] {
                     failed = true;
                     intake.fail(subject.dropped);
                   }}};
      } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
      intake.close();
      EXPECT_TRUE(intake.is_exhausted());
      std::int64_t dropped = 0;
      for (const auto& [reason, count] : subject.drops()) dropped += count;
      EXPECT_EQ(static_cast<std::int64_t>(begun.size()) + dropped, read);
      EXPECT_EQ(static_cast<std::int64_t>(subject.dropped.size()), dropped) << "not handed back";
      EXPECT_LE(listed, dropped);
      EXPECT_EQ(free_slots(subject.limiter), kSlots) << "a slot was lost";
    });
  }
  EXPECT_GT(schedules, 100u);
}

}  // namespace
}  // namespace vcap::test
