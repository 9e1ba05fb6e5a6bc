// SPDX-License-Identifier: Apache-2.0
#include "streams/call_places.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "streams/call_bound.hpp"
#include "support/every_schedule.hpp"

namespace vcap::test {
namespace {

/// Counts the places that it gets.
class Line final : public CallLine {
 public:
  explicit Line(char letter) : name(letter) {}
  void go_on() override { ++places; }

  const char name;
  int places = 0;
};

struct TurnCase {
  std::size_t places;
  std::string events;   ///< a letter: that line asks for a place; !: a place is given back
  std::string granted;  ///< by event: the line that then gets a place; -: none
};

TEST(CallPlaces, AreGivenToLinesInTurns) {
  const TurnCase cases[] = {
      {1, "a", "a"},
      {1, "ab", "a-"},
      {1, "ab!", "a-b"},
      {1, "ab!!", "a-b-"},
      {2, "aab!", "aa-b"},
      {1, "aaab!!!!", "a---aba-"},  // two of a wait before b; b gets the second place
      {1, "aaaabc!!!!!", "a-----abcaa"},
      {1, "ab!a!", "a-b-a"},
      {2, "abcd!!a!", "ab--cd-a"},
      {3, "a!a!a!aaa", "a-a-a-aaa"},
  };
  for (const TurnCase& one : cases) {
    SCOPED_TRACE(one.events);
    CallPlaces places(one.places);
    const std::vector<std::shared_ptr<Line>> lines{
        std::make_shared<Line>('a'), std::make_shared<Line>('b'), std::make_shared<Line>('c'),
        std::make_shared<Line>('d')};
    std::string granted;
    for (const char event : one.events) {
      if (event != '!') {
        const auto& line = lines[static_cast<std::size_t>(event - 'a')];
        granted += places.try_take() || places.wait(line) ? std::string(1, event) : "-";
        continue;
      }
      const auto next = places.leave() ? places.hand_over() : nullptr;
      granted += next ? std::string(1, dynamic_cast<Line&>(*next).name) : "-";
    }
    EXPECT_EQ(granted, one.granted);
  }
}

TEST(CallPlaces, AreTakenWithoutAWaitOnlyIfOneIsFree) {
  CallPlaces places(1);
  EXPECT_TRUE(places.try_take_idle());
  EXPECT_FALSE(places.try_take_idle());
  EXPECT_FALSE(places.leave());
  EXPECT_TRUE(places.try_take());
  EXPECT_FALSE(places.try_take());
  EXPECT_FALSE(places.wait(std::make_shared<Line>('a')));
  EXPECT_FALSE(places.try_take_idle()) << "a line waits";
  EXPECT_TRUE(places.leave());
  EXPECT_TRUE(places.hand_over());
  EXPECT_FALSE(places.try_take_idle());
  EXPECT_FALSE(places.leave());
}

TEST(CallPlaces, AreNeverTakenAwayWhenTheirNumberChanges) {
  CallPlaces places(2);
  EXPECT_EQ(places.raise(1), 0u);
  EXPECT_EQ(places.raise(2), 0u);
  EXPECT_EQ(places.raise(5), 3u);
  EXPECT_EQ(places.raise(4), 0u);
  EXPECT_EQ(places.places(), 5u);
  EXPECT_EQ(CallPlaces(0).raise(9), 0u) << "there is no bound";
}

/// Acts like SharedCallPlaces, whose atomic operations and locked parts may come in any order:
/// after a try_take() that fails, wait() follows at any later time, and so does hand_over() after a
/// leave(). In every schedule, no more places are held than there are, no place is lost, and lines
/// get theirs in turns.
TEST(CallPlaces, AreNeitherLostNorTakenTwiceInEverySchedule) {
  static constexpr int kEach = 2;  // things that each line has
  for (const std::int64_t number : {1, 2}) {
    const std::size_t schedules = run_every_schedule([number](Choices& choices) {
      CallPlaces places(static_cast<std::size_t>(number));
      const std::vector<std::shared_ptr<Line>> lines{std::make_shared<Line>('a'),
                                                     std::make_shared<Line>('b')};
      std::vector<int> asked(lines.size()), to_wait(lines.size());
      std::int64_t held = 0, handed = 0;  // places in use; places on their way to hand_over()
      int done = 0;
      std::size_t ahead = 0;
      std::string waiting;  // the lines that wait, one letter for each thing
      const auto ask = [&](std::size_t line) {
        ++asked[line];
        if (places.try_take())
          ++held;
        else
          ++to_wait[line];
      };
      const auto wait = [&](std::size_t line) {
        --to_wait[line];
        if (places.wait(lines[line])) {
          EXPECT_GT(ahead, 0u);
          --ahead;
          ++held;
        } else {
          EXPECT_EQ(ahead, 0u) << "a place is free, and a line waits";
          waiting += lines[line]->name;
        }
      };
      const auto leave = [&] {
        --held;
        ++done;
        if (places.leave()) ++handed;
      };
      const auto hand_over = [&] {
        --handed;
        const auto line = places.hand_over();
        EXPECT_EQ(line == nullptr, waiting.empty());
        if (!line) {
          ++ahead;
          return;
        }
        const std::size_t at = waiting.find(dynamic_cast<Line&>(*line).name);
        ASSERT_NE(at, std::string::npos);
        waiting.erase(at, 1);
        ++held;
      };
      std::vector<Event> events;
      do {
        EXPECT_LE(held + handed + static_cast<std::int64_t>(ahead), number);
        EXPECT_EQ(places.waiting(), waiting.size());
        events.clear();
        for (std::size_t line = 0; line < lines.size(); ++line) {
          events.push_back({asked[line] < kEach, [&ask, line] { ask(line); }});
          events.push_back({to_wait[line] > 0, [&wait, line] { wait(line); }});
        }
        events.push_back({held > 0, leave});
        events.push_back({handed > 0, hand_over});
      } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
      EXPECT_EQ(done, 2 * kEach) << "something waits, and no place will come";
      for (std::int64_t i = 0; i < number; ++i) EXPECT_TRUE(places.try_take()) << "a place is lost";
    });
    EXPECT_GT(schedules, 500u);
  }
}

TEST(SharedCallPlaces, LetsLinesGoOnWhenPlacesComeBackOrAreAdded) {
  SharedCallPlaces places(1);
  const auto line = std::make_shared<Line>('a');
  ASSERT_TRUE(places.try_take());
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(places.try_take());
    ASSERT_FALSE(places.wait(line));
  }
  EXPECT_EQ(places.waiting(), 3u);
  places.leave();
  EXPECT_EQ(line->places, 1);
  places.raise(2);
  EXPECT_EQ(line->places, 2);
  EXPECT_EQ(places.places(), 2u);
  EXPECT_EQ(places.waiting(), 1u);
}

struct BoundCase {
  CallBound bound;
  std::size_t places;
};

TEST(CallBound, FollowsFromHostAuthorBatchesAndWorkers) {
  const auto among = [](std::size_t workers, std::size_t cores,
                        std::optional<BatchSizes> batch = {}, std::size_t backends = 1) {
    return CallBound{
        .batch = batch, .backends = backends, .alone = false, .workers = workers, .cores = cores};
  };
  const auto with = [](CallBound bound, std::optional<std::size_t> host,
                       std::optional<std::size_t> author) {
    bound.host = host;
    bound.author = author;
    return bound;
  };
  const BatchSizes eight{.maximum = 8};
  const BatchSizes most{.maximum = static_cast<std::size_t>(-1)};
  const BoundCase cases[] = {
      // A capsule by itself takes no worker from another one.
      {{.workers = 4, .cores = 2}, 0},
      {{.batch = eight, .workers = 4, .cores = 2}, 0},
      {{.author = 3, .workers = 4, .cores = 2}, 3},
      // Without batches: all workers but one for each core.
      {among(128, 2), 126},
      {among(32, 16), 16},
      {among(4, 2), 2},
      // Few workers: half of them, and at least one place.
      {among(4, 16), 2},
      {among(3, 16), 2},
      {among(2, 16), 1},
      {among(1, 16), 1},
      // With batches: two for each backend, and what the cores prepare.
      {among(128, 2, eight), 18},
      {among(128, 2, eight, 3), 50},
      {among(16, 2, eight), 14},
      {among(128, 2, BatchSizes{}), 4},
      {among(128, 2, most, 4), 126},
      // The author's number leaves workers to others; the host's counts as it is.
      {with(among(128, 2, eight), {}, 40), 40},
      {with(among(128, 2), {}, 1), 1},
      {with(among(4, 2), {}, 40), 2},
      {with(among(4, 2), 4, 1), 4},
      {with(among(4, 2), 0, 1), 0},
      {with({.workers = 4, .cores = 2}, 1, 2), 1},
  };
  for (const BoundCase& one : cases)
    EXPECT_EQ(one.bound.places(), one.places)
        << one.bound.workers << " workers, " << one.bound.cores << " cores, batches of "
        << (one.bound.batch ? one.bound.batch->maximum : 0) << ", author "
        << one.bound.author.value_or(0) << ", host " << one.bound.host.value_or(0);
}

}  // namespace
}  // namespace vcap::test
