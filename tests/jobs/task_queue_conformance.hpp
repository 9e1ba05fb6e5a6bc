// SPDX-License-Identifier: Apache-2.0
#pragma once

// The contract of TaskQueue. An implementation runs these tests with one line in its own test:
//   INSTANTIATE_TEST_SUITE_P(InProcess, TaskQueueConformance,
//                            testing::Values(QueueKind{"in_process", &make_in_process_queue}));

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "jobs/task_queue_rounds.hpp"
#include "support/manual_clock.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/jobs/task_queue.hpp"

namespace vcap::test {

using Json = nlohmann::json;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

/// An implementation, and how the suite makes it.
struct QueueKind {
  const char* name;
  MakeQueue make;
  unsigned rounds = kQueueRounds;  ///< random rounds
  friend std::ostream& operator<<(std::ostream& out, const QueueKind& kind) {
    return out << kind.name;
  }
};

class TaskQueueConformance : public testing::TestWithParam<QueueKind> {
 protected:
  using Lease = TaskQueue::Lease;
  using Counts = TaskQueue::Counts;

  std::unique_ptr<TaskQueue> make_queue(int max_attempts = 3) const {
    return GetParam().make({.max_attempts = max_attempts, .clock = clock_});
  }
  void put(std::initializer_list<const char*> ids) const {
    for (const char* const id : ids) ASSERT_TRUE(queue_->put(id, {{"of", id}}));
  }
  Lease take() const { return queue_->try_lease(seconds(10)).value(); }
  std::string next() const { return take().task; }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::unique_ptr<TaskQueue> queue_ = make_queue();
};

TEST_P(TaskQueueConformance, LeasesTasksInTheOrderInWhichTheyWerePut) {
  put({"b", "a", "c"});
  const Lease first = take();
  EXPECT_EQ(first.task, "b");
  EXPECT_EQ(first.payload, Json({{"of", "b"}}));
  EXPECT_EQ(first.attempt, 1);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(next(), "c");
  EXPECT_FALSE(queue_->try_lease(seconds(10)));
}

TEST_P(TaskQueueConformance, PutsATaskOnlyOnceInAnyState) {
  put({"a", "b", "c"});
  const auto put_again = [&] {
    for (const char* const id : {"a", "b", "c"}) EXPECT_FALSE(queue_->put(id, "another"));
  };
  put_again();
  EXPECT_TRUE(queue_->complete(take(), "done"));
  const Lease held = take();
  put_again();
  EXPECT_EQ(queue_->counts(), (Counts{.waiting = 1, .leased = 1, .done = 1}));
  EXPECT_EQ(take().payload, Json({{"of", "c"}}));
  EXPECT_TRUE(queue_->complete(held, 2));
  EXPECT_EQ(queue_->result("a"), "done");
}

TEST_P(TaskQueueConformance, StoresAResultOnce) {
  put({"a"});
  const Lease lease = take();
  EXPECT_FALSE(queue_->result("a"));
  EXPECT_TRUE(queue_->complete(lease, 1));
  EXPECT_FALSE(queue_->complete(lease, 2));
  EXPECT_EQ(queue_->result("a"), 1);
  EXPECT_FALSE(queue_->result("never put"));
}

TEST_P(TaskQueueConformance, RetriesAFailedTaskLastAndFinallyGivesItUp) {
  put({"a", "b"});
  EXPECT_TRUE(queue_->fail(take(), "first"));
  EXPECT_TRUE(queue_->complete(take(), "b's"));
  const Lease second = take();
  EXPECT_EQ(second.task, "a");
  EXPECT_EQ(second.attempt, 2);
  EXPECT_TRUE(queue_->fail(second, "second"));
  EXPECT_THAT(queue_->failures(), ElementsAre(TaskQueue::Failure{"a", {"first", "second"}, false}));
  EXPECT_TRUE(queue_->fail(take(), "third"));
  EXPECT_EQ(queue_->counts(), (Counts{.done = 1, .given_up = 1}));
  EXPECT_THAT(queue_->failures(),
              ElementsAre(TaskQueue::Failure{"a", {"first", "second", "third"}, true}));
  EXPECT_FALSE(queue_->result("a"));
}

TEST_P(TaskQueueConformance, LeasesATaskAgainWhenItsLeaseExpires) {
  put({"a", "b"});
  const Lease lost = take();
  clock_->advance(seconds(10) - std::chrono::nanoseconds(1));
  EXPECT_TRUE(queue_->renew(lost, seconds(1)));
  clock_->advance(seconds(1));
  EXPECT_EQ(queue_->counts(), (Counts{.waiting = 2}));
  EXPECT_EQ(next(), "b");
  const Lease second = take();
  EXPECT_EQ(second.task, "a");
  EXPECT_EQ(second.attempt, 2);
  EXPECT_NE(second.number, lost.number);
  EXPECT_THAT(queue_->failures().at(0).reasons, ElementsAre(HasSubstr("ran out")));
}

TEST_P(TaskQueueConformance, GivesUpATaskWhoseWorkersAllDie) {
  put({"a"});
  for (int attempt = 1; attempt <= 3; ++attempt) {
    EXPECT_EQ(take().attempt, attempt);
    clock_->advance(seconds(10));
  }
  EXPECT_EQ(queue_->counts(), Counts{.given_up = 1});
  EXPECT_EQ(queue_->failures().at(0).reasons.size(), 3u);
}

TEST_P(TaskQueueConformance, RenewsALeaseFromTheCurrentTime) {
  put({"a"});
  const Lease lease = take();
  for (int i = 0; i < 5; ++i) {
    clock_->advance(seconds(9));
    EXPECT_TRUE(queue_->renew(lease, seconds(10)));
  }
  EXPECT_TRUE(queue_->renew(lease, seconds(1)));
  clock_->advance(seconds(1));
  EXPECT_FALSE(queue_->renew(lease, seconds(10)));
}

TEST_P(TaskQueueConformance, ChangesNothingForALeaseThatIsNotValidAnyMore) {
  put({"a"});
  const Lease old = take();
  clock_->advance(seconds(10));
  const auto is_refused = [&] {
    return !queue_->renew(old, seconds(99)) && !queue_->fail(old, "late") && !queue_->release(old);
  };
  EXPECT_TRUE(is_refused());
  const Lease held = take();
  EXPECT_TRUE(is_refused());
  EXPECT_EQ(queue_->counts(), Counts{.leased = 1});
  EXPECT_EQ(queue_->failures().at(0).reasons.size(), 1u);
  EXPECT_TRUE(queue_->complete(held, 1));
  EXPECT_TRUE(is_refused());
  EXPECT_EQ(queue_->counts(), Counts{.done = 1});
}

TEST_P(TaskQueueConformance, StoresALateResultIfThereIsNoneYet) {
  put({"waits", "is held", "is done"});
  const Lease waits = take();
  const Lease is_held = take();
  const Lease is_done = take();
  clock_->advance(seconds(10));
  EXPECT_TRUE(queue_->complete(waits, "late"));
  const Lease held = take();
  EXPECT_EQ(held.task, "is held");
  EXPECT_TRUE(queue_->complete(is_held, "late"));
  EXPECT_FALSE(queue_->complete(held, "too late"));
  EXPECT_FALSE(queue_->renew(held, seconds(10)));
  EXPECT_TRUE(queue_->complete(take(), "in time"));
  EXPECT_FALSE(queue_->complete(is_done, "late"));
  EXPECT_EQ(queue_->result("waits"), "late");
  EXPECT_EQ(queue_->result("is held"), "late");
  EXPECT_EQ(queue_->result("is done"), "in time");
  EXPECT_EQ(queue_->counts(), Counts{.done = 3});
}

TEST_P(TaskQueueConformance, RefusesAResultOfATaskThatIsGivenUp) {
  const auto queue = make_queue(1);
  ASSERT_TRUE(queue->put("a", {}));
  const auto lease = queue->try_lease(seconds(10));
  clock_->advance(seconds(10));
  EXPECT_FALSE(queue->complete(*lease, 1));
  EXPECT_FALSE(queue->result("a"));
  EXPECT_EQ(queue->counts(), Counts{.given_up = 1});
}

TEST_P(TaskQueueConformance, PutsAReleasedTaskBackInItsPlace) {
  put({"a", "b", "c"});
  const Lease first = take();
  const Lease second = take();
  EXPECT_TRUE(queue_->release(second));
  EXPECT_TRUE(queue_->release(first));
  EXPECT_FALSE(queue_->release(first));
  EXPECT_TRUE(queue_->failures().empty());
  const Lease again = take();
  EXPECT_EQ(again.task, "a");
  EXPECT_EQ(again.attempt, 1);
  EXPECT_EQ(next(), "b");
  EXPECT_EQ(next(), "c");
}

TEST_P(TaskQueueConformance, WakesWorkersThatWaitForATask) {
  std::optional<Lease> lease;
  std::jthread worker([&] { lease = queue_->lease(seconds(10), {}); });
  put({"a"});
  worker.join();
  EXPECT_EQ(lease->task, "a");

  std::jthread other([&] { lease = queue_->lease(seconds(10), {}); });
  clock_->await_sleeper(clock_->now() + seconds(10));
  EXPECT_TRUE(queue_->fail(*lease, "again"));
  other.join();
  EXPECT_EQ(lease->attempt, 2);
}

TEST_P(TaskQueueConformance, WakesWaitingWorkersWhenALeaseExpires) {
  put({"a", "b"});
  const Lease late = take();
  std::optional<Lease> got;
  const Lease early = take();
  std::jthread worker([&] { got = queue_->lease(seconds(10), {}); });
  clock_->await_sleeper(clock_->now() + seconds(10));
  // This lease now ends before the time until which the worker sleeps.
  EXPECT_TRUE(queue_->renew(early, seconds(1)));
  clock_->await_sleeper(clock_->now() + seconds(1));
  clock_->advance(seconds(1));
  worker.join();
  EXPECT_EQ(got->task, "b");
  EXPECT_TRUE(queue_->renew(late, seconds(10)));
}

TEST_P(TaskQueueConformance, SleepsExactlyUntilTheFirstLeaseExpires) {
  put({"a"});
  std::stop_source stop;
  std::jthread waiting([&] { EXPECT_FALSE(queue_->wait_until_settled(stop.get_token())); });
  const Lease lease = take();
  clock_->await_sleeper(clock_->now() + seconds(10));
  const std::size_t sleeps = clock_->sleeps();
  clock_->advance(seconds(5));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(queue_->counts(), Counts{.leased = 1});
  EXPECT_EQ(clock_->sleeps(), sleeps);
  stop.request_stop();
}

TEST_P(TaskQueueConformance, StopsWaitingOnRequest) {
  std::stop_source stop;
  std::jthread idle([&] { EXPECT_FALSE(queue_->lease(seconds(10), stop.get_token())); });
  stop.request_stop();
  idle.join();
  put({"a"});
  EXPECT_FALSE(queue_->lease(seconds(10), stop.get_token()));
  EXPECT_FALSE(queue_->wait_until_settled(stop.get_token()));
  EXPECT_EQ(queue_->counts(), Counts{.waiting = 1});
}

TEST_P(TaskQueueConformance, WaitsUntilAllTasksAreSettled) {
  EXPECT_TRUE(queue_->wait_until_settled({}));
  const auto queue = make_queue(1);
  ASSERT_TRUE(queue->put("done", {}));
  ASSERT_TRUE(queue->put("dies", {}));
  const auto lease = queue->try_lease(seconds(10));
  ASSERT_TRUE(queue->try_lease(seconds(5)));
  std::jthread waiting([&] { EXPECT_TRUE(queue->wait_until_settled({})); });
  clock_->await_sleeper(clock_->now() + seconds(5));
  EXPECT_TRUE(queue->complete(*lease, 1));
  clock_->advance(seconds(5));
  waiting.join();
  EXPECT_EQ(queue->counts(), (Counts{.done = 1, .given_up = 1}));
}

TEST_P(TaskQueueConformance, AcceptsTheLongestLeaseDuration) {
  put({"a", "b"});
  const auto lease = queue_->try_lease(Clock::duration::max());
  clock_->advance(std::chrono::hours(10000));
  EXPECT_TRUE(queue_->renew(*lease, Clock::duration::max()));
}

TEST_P(TaskQueueConformance, RefusesValuesBeyondItsLimits) {
  const auto refused = [](const char* words) {
    return ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(words));
  };
  const std::string fits(256, 'i');
  const std::string large((64 << 10) - 2, 'x');  // the largest allowed, with its quotes
  EXPECT_THAT([&] { queue_->put("", 1); }, refused("0 bytes; 1 to 256 are allowed"));
  EXPECT_THAT([&] { queue_->put(fits + "i", 1); }, refused("257 bytes; 1 to 256 are allowed"));
  EXPECT_THAT([&] { queue_->put("a", large + "x"); }, refused("payload of task \"a\""));
  EXPECT_THAT([&] { queue_->put("a", "\xff"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr("\"a\"")));
  EXPECT_EQ(queue_->counts(), Counts{});

  EXPECT_TRUE(queue_->put(fits, large));
  EXPECT_THAT([&] { queue_->try_lease(seconds(0)); }, refused("0 ns"));
  EXPECT_THAT([&] { queue_->lease(seconds(-1), {}); }, refused("-1000000000 ns"));
  const Lease lease = take();
  EXPECT_EQ(lease.payload, large);
  EXPECT_THAT([&] { queue_->renew(lease, seconds(0)); }, refused("0 ns"));
  EXPECT_THAT([&] { queue_->complete(lease, large + "x"); }, refused("result of task"));
  EXPECT_THAT([&] { queue_->complete({.task = "b"}, 1); }, refused("no task has the id \"b\""));
  EXPECT_TRUE(queue_->complete(lease, large));
  EXPECT_THAT([&] { make_queue(0); }, refused("max_attempts must be >= 1, got 0"));
}

TEST_P(TaskQueueConformance, SettlesEveryTaskOnceInRandomRounds) {
  for (unsigned seed = 0; seed < GetParam().rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    QueueRound(GetParam().make, seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace vcap::test
