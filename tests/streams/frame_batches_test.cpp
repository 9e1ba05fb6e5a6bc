// SPDX-License-Identifier: Apache-2.0
#include "streams/frame_batches.hpp"

#include <gtest/gtest.h>

#include <set>

#include "streams/machine_helpers.hpp"
#include "support/every_schedule.hpp"

namespace vcap::test {
namespace {

std::shared_ptr<const Route> own_route(const FrameJob& job) { return job.route; }

/// Begins a call and takes its frames at once.
FrameBatches::Batch call(FrameBatches& batches) {
  return batches.begin_call() ? batches.take(own_route) : FrameBatches::Batch();
}

struct SizeCase {
  std::size_t waiting;
  BatchSizes sizes;
  std::vector<std::size_t> batches;
};

TEST(FrameBatches, HaveTheSizesThatSuitTheModel) {
  const SizeCase cases[] = {
      {0, {.maximum = 4}, {}},
      {1, {.maximum = 4}, {1}},
      {3, {.maximum = 4}, {3}},
      {4, {.maximum = 4}, {4}},
      {9, {.maximum = 4}, {4, 4, 1}},
      {9, {.preferred = 4, .maximum = 16}, {8, 1}},
      {3, {.preferred = 4, .maximum = 16}, {3}},
      {6, {.preferred = 4, .maximum = 6}, {6}},
      {7, {.preferred = 4, .maximum = 6}, {6, 1}},
      {5, {.preferred = 4, .maximum = 6}, {4, 1}},
      {2, {.maximum = 1}, {1, 1}},
  };
  for (const SizeCase& one : cases) {
    SCOPED_TRACE(testing::Message() << one.waiting << " frames, preferred " << one.sizes.preferred
                                    << ", at most " << one.sizes.maximum);
    FrameBatches batches(one.sizes, 100);
    for (std::uint64_t ticket = 0; ticket < one.waiting; ++ticket) batches.add(job_of(ticket));
    std::vector<std::size_t> found;
    for (;;) {
      const FrameBatches::Batch batch = call(batches);
      if (batch.empty()) break;
      found.push_back(batch.size());
    }
    EXPECT_EQ(found, one.batches);
  }
}

TEST(FrameBatches, HaveFramesOfOnlyOneRoute) {
  const auto before = std::make_shared<const Route>();
  const auto after = std::make_shared<const Route>();
  FrameBatches batches({.maximum = 8}, 3);
  batches.add(job_of(3, after));
  batches.add(job_of(0, before));
  batches.add(job_of(2, after));
  batches.add(job_of(1, before));
  EXPECT_EQ(tickets_of(call(batches)), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(tickets_of(call(batches)), (std::vector<std::uint64_t>{2, 3}));
  EXPECT_FALSE(batches.begin_call());
}

TEST(FrameBatches, HaveTheRouteThatFramesWillHave) {
  const auto before = std::make_shared<const Route>();
  const auto after = std::make_shared<const Route>();
  FrameBatches batches({.maximum = 8}, 3);
  for (std::uint64_t ticket = 0; ticket < 4; ++ticket) batches.add(job_of(ticket, before));
  ASSERT_TRUE(batches.begin_call());
  const auto changed = [&](const FrameJob& job) { return job.ticket < 3 ? before : after; };
  EXPECT_EQ(tickets_of(batches.take(changed)), (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(FrameBatches, FillWhileTheirCallWaitsForAPlace) {
  FrameBatches batches({.maximum = 3}, 2);
  batches.add(job_of(0));
  EXPECT_TRUE(batches.begin_call());
  for (std::uint64_t ticket = 1; ticket < 3; ++ticket) {
    batches.add(job_of(ticket));
    EXPECT_FALSE(batches.begin_call()) << "the first call will take frame " << ticket;
  }
  batches.add(job_of(3));
  EXPECT_TRUE(batches.begin_call());
  EXPECT_EQ(tickets_of(batches.take(own_route)), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(tickets_of(batches.take(own_route)), (std::vector<std::uint64_t>{3}));
  EXPECT_FALSE(batches.end_call());
}

/// Acts like Stream: each add(), and each end_call() that returns true, requests a begin_call(),
/// which may follow at any later time, and so may the take() of a call that was begun.
TEST(FrameBatches, TakeEachFrameOnceInEverySchedule) {
  static constexpr std::uint64_t kFrames = 4;
  for (std::size_t most_calls = 1; most_calls <= 2; ++most_calls) {
    const std::size_t schedules = run_every_schedule([most_calls](Choices& choices) {
      FrameBatches batches({.maximum = 3}, most_calls);
      std::uint64_t added = 0;
      std::size_t requests = 0;
      std::size_t begun = 0;  // calls that wait for their frames
      std::size_t calls = 0;  // calls that have their frames
      std::set<std::uint64_t> taken;
      const auto begin = [&] {
        --requests;
        const bool begins = batches.begin_call();
        EXPECT_EQ(begins, taken.size() + 3 * begun < added && calls + begun < most_calls);
        if (begins) ++begun;
      };
      const auto take = [&] {
        const FrameBatches::Batch batch = batches.take(own_route);
        EXPECT_EQ(batch.empty(), taken.size() == added);
        EXPECT_LE(batch.size(), 3u);
        --begun;
        ++calls;
        for (const std::uint64_t ticket : tickets_of(batch))
          EXPECT_TRUE(taken.insert(ticket).second) << "frame " << ticket << " was taken twice";
      };
      std::vector<Event> events;
      do {
        EXPECT_TRUE(taken.size() + 3 * begun >= added || requests > 0 ||
                    begun + calls == most_calls)
            << "frames wait, and no call will take them";
        events = {{added < kFrames,
                   [&] {
                     batches.add(job_of(added++));
                     ++requests;
                   }},
                  {requests > 0, begin},
                  {begun > 0, take},
                  {calls > 0, [&] {
                     --calls;
                     const bool waits = batches.end_call();
                     EXPECT_EQ(waits, taken.size() < added);
                     if (waits) ++requests;
                   }}};
      } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
      EXPECT_EQ(taken.size(), kFrames);
    });
    EXPECT_GT(schedules, 100u);
  }
}

}  // namespace
}  // namespace vcap::test
