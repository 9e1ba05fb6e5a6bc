// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "streams/machine_helpers.hpp"
#include "support/every_schedule.hpp"

namespace vcap::test {
namespace {

TEST(StatefulGate, AdmitsTheFirstFrameWithAnyTicket) {
  StatefulGate gate;
  gate.open(7);
  gate.open(9);  // no effect
  EXPECT_FALSE(gate.enter(job_of(8)));
  EXPECT_TRUE(gate.is_turn_of(7));
  ASSERT_TRUE(gate.enter(job_of(7)));
  const auto next = gate.leave();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->ticket, 8u);
  EXPECT_FALSE(gate.leave());
  EXPECT_TRUE(gate.is_turn_of(9));
}

struct GateCase {
  std::uint64_t first;
  std::string events;    ///< a digit: that frame comes; !: the frame inside leaves
  std::string admitted;  ///< by event: the frame that is then let in; -: none
};

TEST(StatefulGate, AdmitsTheFrameWhoseTurnItIs) {
  const GateCase cases[] = {
      {0, "0", "0"},
      {0, "1", "-"},
      {0, "01", "0-"},  // frame 0 is inside
      {0, "0!1", "0-1"},
      {0, "01!!", "0-1-"},
      {0, "10!!", "-01-"},
      {0, "02!1!!", "0--12-"},  // frame 2 waits for frame 1
      {0, "3210!!!!", "---0123-"},
      {5, "65!", "-56"},
      {5, "57!6!", "5--67"},
  };
  for (const GateCase& one : cases) {
    SCOPED_TRACE(one.events);
    StatefulGate gate;
    gate.open(one.first);
    std::string admitted;
    for (const char event : one.events) {
      const auto ticket = static_cast<std::uint64_t>(event - '0');
      const auto job = event == '!' ? gate.leave() : gate.enter(job_of(ticket));
      admitted += job ? std::to_string(job->ticket) : "-";
    }
    EXPECT_EQ(admitted, one.admitted);
  }
}

TEST(StatefulGate, AdmitsFramesOneAtATimeAndInOrderInEverySchedule) {
  static constexpr std::uint64_t kFrames = 5;
  const std::size_t schedules = run_every_schedule([](Choices& choices) {
    StatefulGate gate;
    gate.open(0);
    std::set<std::uint64_t> parked;
    std::uint64_t passed = 0;
    std::optional<std::uint64_t> inside;
    std::vector<bool> came(kFrames);
    const auto come = [&](std::uint64_t ticket) {
      came[ticket] = true;
      EXPECT_EQ(gate.is_turn_of(ticket), ticket == passed);
      if (const auto job = gate.enter(job_of(ticket))) {
        EXPECT_EQ(job->ticket, ticket);
        EXPECT_FALSE(inside) << "two frames are inside";
        EXPECT_EQ(ticket, passed);
        inside = ticket;
      } else {
        EXPECT_NE(ticket, passed);
        parked.insert(ticket);
      }
    };
    const auto go = [&] {
      inside.reset();
      ++passed;
      const auto next = gate.leave();
      ASSERT_EQ(next != nullptr, parked.contains(passed));
      if (!next) return;
      EXPECT_EQ(next->ticket, passed);
      inside = next->ticket;
      parked.erase(next->ticket);
    };
    std::vector<Event> events;
    do {
      events.clear();
      for (std::uint64_t ticket = 0; ticket < kFrames; ++ticket)
        events.push_back({!came[ticket], [&come, ticket] { come(ticket); }});
      events.push_back({inside.has_value(), go});
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
    EXPECT_EQ(passed, kFrames);
  });
  EXPECT_GT(schedules, 500u);
}

}  // namespace
}  // namespace vcap::test
