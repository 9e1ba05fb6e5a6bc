// SPDX-License-Identifier: Apache-2.0
#include "streams/stream_slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "streams/machine_helpers.hpp"
#include "support/every_schedule.hpp"

namespace vcap::test {
namespace {

struct TakeCase {
  std::size_t bound;  ///< slots of the pipeline
  std::size_t look_ahead;
  std::size_t frames;  ///< that one stream may have in flight, of at most 10
};

TEST(StreamSlots, AllowTheFirstFrameThoseThatWaitAndOneForEachSlot) {
  const TakeCase cases[] = {
      {0, 0, 10},  // no bound
      {1, 0, 2},  {2, 0, 3}, {1, 1, 3}, {2, 3, 6}, {1, 20, 10},
  };
  for (const TakeCase& one : cases) {
    SCOPED_TRACE(testing::Message() << one.bound << " slots, look-ahead " << one.look_ahead);
    InFlightLimiter limiter(one.bound);
    StreamSlots slots(limiter);
    slots.set_look_ahead(one.look_ahead);
    std::size_t frames = 0;
    while (frames < 10 && slots.take(frames)) ++frames;
    EXPECT_EQ(frames, one.frames);
  }
}

struct SettleCase {
  std::size_t look_ahead;
  std::size_t before;  ///< frames in flight; they take what they need of 5 slots
  std::size_t after;
  std::size_t free;
  bool next_is_free;  ///< the next frame needs no slot, so a wait for one ends
};

TEST(StreamSlots, GiveBackWhatFramesDoNotNeed) {
  const SettleCase cases[] = {
      {0, 4, 4, 2, false}, {0, 4, 3, 3, false}, {0, 4, 1, 5, false}, {0, 4, 0, 5, true},
      {0, 1, 0, 5, true},  {2, 6, 4, 4, false}, {2, 6, 3, 5, false}, {2, 6, 2, 5, true},
  };
  for (const SettleCase& one : cases) {
    SCOPED_TRACE(testing::Message() << one.before << " frames, then " << one.after
                                    << ", look-ahead " << one.look_ahead);
    InFlightLimiter limiter(5);
    StreamSlots slots(limiter);
    slots.set_look_ahead(one.look_ahead);
    for (std::size_t frames = 0; frames < one.before; ++frames) ASSERT_TRUE(slots.take(frames));
    slots.settle(one.after);
    ASSERT_EQ(free_slots(limiter), one.free);
    // A slot is free, so a wait that was not ended returns at once with a slot.
    EXPECT_EQ(limiter.wait(slots.waiter()), !one.next_is_free);
  }
}

TEST(StreamSlots, GiveBackASlotThatAWaitGave) {
  InFlightLimiter limiter(1);
  StreamSlots slots(limiter);
  ASSERT_TRUE(slots.take(0));
  ASSERT_EQ(free_slots(limiter), 1u);
  ASSERT_TRUE(limiter.wait(slots.waiter()));
  slots.add();
  EXPECT_TRUE(slots.take(1)) << "the slot is for this frame";
  EXPECT_EQ(free_slots(limiter), 0u);
  slots.settle(1);
  EXPECT_EQ(free_slots(limiter), 1u);
}

/// Two streams read frames and end them in every order, and one of them learns meanwhile that some
/// of its frames wait for later ones.
TEST(StreamSlots, NeverExceedTheBoundOrLoseASlotInEverySchedule) {
  static constexpr std::size_t kBound = 2;
  static constexpr std::size_t kEvents = 7;
  const std::size_t schedules = run_every_schedule([](Choices& choices) {
    struct Reader {
      explicit Reader(InFlightLimiter& limiter) : slots(limiter) {}
      /// The slots that this number of frames needs.
      std::size_t needs(std::size_t count) const {
        return count > look_ahead + 1 ? count - look_ahead - 1 : 0;
      }
      StreamSlots slots;
      std::size_t frames = 0;
      std::size_t look_ahead = 0;
      std::size_t held = 0;
    };
    InFlightLimiter limiter(kBound);
    std::array<Reader, 2> readers{Reader(limiter), Reader(limiter)};
    const auto held = [&] { return readers[0].held + readers[1].held; };
    const auto read = [&](Reader& reader) {
      const std::size_t needed = reader.needs(reader.frames + 1);
      const bool has_room = needed <= reader.held || held() < kBound;
      EXPECT_EQ(reader.slots.take(reader.frames), has_room);
      if (!has_room) return;
      ++reader.frames;
      reader.held = std::max(reader.held, needed);
    };
    const auto end = [&](Reader& reader) {
      --reader.frames;
      reader.slots.settle(reader.frames);
      reader.held = reader.needs(reader.frames);
    };
    std::vector<Event> events;
    std::size_t happened = 0;
    do {
      EXPECT_EQ(free_slots(limiter), kBound - held());
      events.clear();
      if (happened++ == kEvents) break;
      for (Reader& reader : readers) {
        events.push_back({reader.frames < 4, [&] { read(reader); }});
        events.push_back({reader.frames > 0, [&] { end(reader); }});
      }
      events.push_back({readers[0].look_ahead == 0 && readers[0].frames > 0, [&] {
                          readers[0].look_ahead = 1;
                          readers[0].slots.set_look_ahead(1);
                        }});
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
    for (Reader& reader : readers) reader.slots.settle(0);
    EXPECT_EQ(free_slots(limiter), kBound) << "a slot was lost";
  });
  EXPECT_GT(schedules, 500u);
}

}  // namespace
}  // namespace vcap::test
