// SPDX-License-Identifier: Apache-2.0
#include "streams/reorder_buffer.hpp"

#include <gtest/gtest.h>

#include <string>

#include "streams/machine_helpers.hpp"
#include "support/every_schedule.hpp"

namespace vcap::test {
namespace {

TEST(ReorderBuffer, IsEmptyAtFirst) {
  ReorderBuffer buffer;
  EXPECT_FALSE(buffer.has_next());
  EXPECT_FALSE(buffer.begin_delivery());
  EXPECT_EQ(buffer.next(), 0u);
}

struct DeliveryCase {
  std::string events;     ///< a digit: that frame completes; ?: a delivery begins; !: it ends
  std::string delivered;  ///< by ?: the frame; -: none
};

TEST(ReorderBuffer, DeliversWhatIsNext) {
  const DeliveryCase cases[] = {
      {"?", "-"},        {"0?", "0"},           {"1?", "-"},  // waits for frame 0
      {"01??", "0-"},                                         // frame 0 is being delivered
      {"0?!?", "0-"},    {"01?!?", "01"},       {"10?!?", "01"},
      {"0?1?!?", "0-1"}, {"0?!2?1?!?", "0-12"}, {"3210?!?!?!?!?", "0123-"},
  };
  for (const DeliveryCase& one : cases) {
    SCOPED_TRACE(one.events);
    ReorderBuffer buffer;
    std::string delivered;
    for (const char event : one.events) {
      if (event == '!') {
        buffer.end_delivery();
      } else if (event != '?') {
        buffer.add(job_of(static_cast<std::uint64_t>(event - '0')));
      } else {
        const bool has_next = buffer.has_next();
        const auto job = buffer.begin_delivery();
        EXPECT_EQ(has_next, job != nullptr);
        delivered += job ? std::to_string(job->ticket) : "-";
        if (job) {
          EXPECT_EQ(buffer.next(), job->ticket + 1);
        }
      }
    }
    EXPECT_EQ(delivered, one.delivered);
  }
}

TEST(ReorderBuffer, DeliversOneAtATimeAndInOrderInEverySchedule) {
  static constexpr std::uint64_t kFrames = 5;
  const std::size_t schedules = run_every_schedule([](Choices& choices) {
    ReorderBuffer buffer;
    std::vector<bool> completed(kFrames);
    std::uint64_t delivered = 0;
    bool delivering = false;
    const auto begin = [&] {
      const bool is_there = delivered < kFrames && completed[delivered] && !delivering;
      EXPECT_EQ(buffer.has_next(), is_there);
      const auto job = buffer.begin_delivery();
      ASSERT_EQ(job != nullptr, is_there);
      if (!job) return;
      EXPECT_EQ(job->ticket, delivered++);
      EXPECT_EQ(buffer.next(), delivered);
      delivering = true;
    };
    std::vector<Event> events;
    do {
      begin();
      begin();  // never two at once
      events.clear();
      for (std::uint64_t ticket = 0; ticket < kFrames; ++ticket)
        events.push_back({!completed[ticket], [&buffer, &completed, ticket] {
                            buffer.add(job_of(ticket));
                            completed[ticket] = true;
                          }});
      events.push_back({delivering, [&] {
                          buffer.end_delivery();
                          delivering = false;
                        }});
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
    EXPECT_EQ(delivered, kFrames);
  });
  EXPECT_GT(schedules, 500u);
}

}  // namespace
}  // namespace vcap::test
