// SPDX-License-Identifier: Apache-2.0
#include "workers/work_pool.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "support/function_lane.hpp"
#include "support/runtime_fixtures.hpp"

namespace vcap::test {
namespace {

// In each test, the pool comes after all that its lanes use: it may run them until it is destroyed.

TEST(WorkPool, TakesOnePieceOfEachLaneInTurn) {
  Latch begun, go, done;
  std::string order;
  WorkPool pool(1);
  const auto letter = [&](char which) {
    return function_lane([&order, &done, which] {
      order += which;
      if (order.size() == 7) done.open();
    });
  };
  pool.post(function_lane([&] {
    begun.open();
    go.wait();
  }));
  begun.wait();  // the only worker is held until all work is posted
  const auto a = letter('a');
  const auto b = letter('b');
  for (int i = 0; i < 4; ++i) pool.post(a);
  for (int i = 0; i < 2; ++i) pool.post(b);
  pool.post(letter('c'));
  go.open();
  done.wait();
  EXPECT_EQ(order, "abcabaa");
}

TEST(WorkPool, GrowsOnlyWhileAllThreadsAreBusy) {
  Latch go, three;
  std::atomic<int> begun{0};
  WorkPool pool(3);
  EXPECT_EQ(pool.threads(), 1u);
  const auto blocking = function_lane([&] {
    if (++begun == 3) three.open();
    go.wait();
  });
  for (int i = 0; i < 5; ++i) pool.post(blocking);
  three.wait();
  EXPECT_EQ(pool.threads(), 3u);
  pool.raise_limit(2);
  EXPECT_EQ(pool.limit(), 3u) << "a limit is never lowered";
  go.open();
}

TEST(WorkPool, LetsAWorkerRunTheLanesThatItPostsBeforeItReturns) {
  Latch done;
  int runs = 0;
  std::shared_ptr<Lane> again;
  WorkPool pool(4);
  again = function_lane([&] {
    if (++runs == 1000)
      done.open();
    else
      pool.post_before_return(again);
  });
  pool.post(again);
  done.wait();
  EXPECT_EQ(pool.threads(), 1u) << "no other worker was needed";
}

TEST(WorkPool, WakesAnotherWorkerIfTheFirstRunsAnotherLane) {
  Latch done, ended;
  WorkPool pool(2);
  const auto other = function_lane([&] {
    done.wait();
    ended.open();
  });
  const auto next = function_lane([&] { done.open(); });
  pool.post(function_lane([&] {
    pool.post_before_return(other);
    pool.post_before_return(next);
  }));
  ended.wait();
  EXPECT_EQ(pool.threads(), 2u);
}

TEST(WorkPool, GivesLanesThatAWorkerPostsAfterItWasGivenUpToOthers) {
  for (const bool other_sleeps : {false, true}) {
    Latch begun, go, ended;
    std::uint64_t worker = 0;
    WorkPool pool(2);
    const auto next = function_lane([&] { ended.open(); });
    pool.post(function_lane([&] {
      worker = WorkPool::current();
      begun.open();
      go.wait();
      pool.post_before_return(next);
    }));
    begun.wait();
    if (other_sleeps) {
      Latch run;
      pool.post(function_lane([&] { run.open(); }));
      run.wait();
    }
    pool.give_up(worker);
    go.open();
    ended.wait();
  }
}

TEST(WorkPool, EndsWhileWorkIsWaiting) {
  std::atomic<int> runs{0};
  Latch begun, go;
  const auto work = function_lane([&] {
    ++runs;
    begun.open();
    go.wait();
  });
  {
    WorkPool pool(1);
    for (int i = 0; i < 100; ++i) pool.post(work);
    begun.wait();
    go.open();
  }
  EXPECT_GE(runs, 1);
  EXPECT_EQ(work.use_count(), 1) << "the pool must release its lanes";
}

}  // namespace
}  // namespace vcap::test
