// SPDX-License-Identifier: Apache-2.0
// Tests of callers that predict in their own threads, and of the change between them and workers.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <set>
#include <stop_token>
#include <thread>

#include "harness/explore.hpp"
#include "subject.hpp"

namespace vcap::model {
namespace {

using namespace std::chrono_literals;

using Counts = std::set<std::size_t>;

TEST(BatchModel, ACallerAlonePredictsAllItsBatches) {
  Fates fates;
  Counts led;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates, {.max_batch_size = 2});
    subject.run(1);
    subject.run_all({2, 3, 4});
    led.insert(subject.led());
  });
  EXPECT_EQ(fates, Fates{Fate::answered});
  EXPECT_EQ(led, Counts{3});
}

TEST(BatchModel, CallersAndWorkersPredictForEachOther) {
  Fates fates;
  Counts led;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates, {.adaptive_linger = false});
    std::thread first([&] {
      subject.run(1);
      subject.run(2);
    });
    subject.run(3);
    subject.submit(4);
    first.join();
    subject.close(CloseMode::drain);
    led.insert(subject.led());
  });
  EXPECT_EQ(fates, Fates{Fate::answered});
  EXPECT_EQ(led, (Counts{1, 2, 3}));
}

TEST(BatchModel, RequestsThatArriveWhileACallerPredictsAreAnswered) {
  for (const bool computes : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1}, {.takes = 1ms, .computes = computes});
      std::thread caller([&] { subject.run(1); });
      subject.submit(2);
      subject.submit(3);
      caller.join();
      subject.close(CloseMode::drain);
    });
    EXPECT_EQ(fates, Fates{Fate::answered});
  }
}

TEST(BatchModel, CallersTakeThePlacesOfWorkers) {
  Fates fates;
  Counts led;
  expect_holds({.preemptions = 1}, [&] {
    Subject subject(fates, {.max_batch_size = 1, .workers = 2});
    std::thread first([&] { subject.run(1); });
    std::thread second([&] { subject.run(2); });
    subject.run(3);
    first.join();
    second.join();
    led.insert(subject.led());
  });
  EXPECT_EQ(fates, Fates{Fate::answered});
  EXPECT_TRUE(led.contains(3)) << "in no schedule, all callers predict";
}

TEST(BatchModel, AWorkerHelpsWithARunAll) {
  Fates fates;
  Counts led;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates, {.max_batch_size = 1, .workers = 2});
    subject.run_all({1, 2, 3});
    led.insert(subject.led());
  });
  EXPECT_EQ(fates, Fates{Fate::answered});
  EXPECT_TRUE(led.contains(1) && led.contains(2) && led.contains(3));
}

TEST(BatchModel, TheRestOfARunAllIsRefusedByClose) {
  for (const std::size_t workers : {1u, 2u}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .workers = workers});
      std::thread caller([&] { subject.run_all({1, 2, 3}); });
      subject.close(CloseMode::cancel);
      caller.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
  }
}

TEST(BatchModel, TheRestOfARunAllIsCancelled) {
  for (const std::size_t workers : {1u, 2u}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .workers = workers});
      std::stop_source stop;
      std::thread stopper([&] { stop.request_stop(); });
      subject.run_all({1, 2}, {.cancellation = stop.get_token()});
      stopper.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::cancelled}));
  }
}

TEST(BatchModel, TheRestOfARunAllExpires) {
  Fates fates;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates, {.max_batch_size = 1}, {.takes = 6ms});
    subject.run_all({1, 2, 3}, {.deadline = Execution::kStart + 10ms});
  });
  EXPECT_EQ(fates, Fates{Fate::expired});
}

TEST(BatchModel, TheRestOfARunAllIsDropped) {
  Fates fates;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(
        fates,
        {.max_batch_size = 1, .max_queue_size = 3, .overflow = QueueOverflowPolicy::drop_oldest});
    std::thread caller([&] { subject.run_all({1, 2, 3}); });
    subject.submit(4);
    subject.submit(5);
    caller.join();
  });
  EXPECT_EQ(fates, (Fates{Fate::answered, Fate::full}));
}

// These two have so many schedules that two preemptions take minutes: tests/long.sh schedules.
TEST(BatchModel, TheDestructorWaitsForCallersThatPredict) {
  for (const std::size_t workers : {1u, 2u}) {
    Fates fates;
    expect_holds({.preemptions = 1}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .workers = workers});
      std::thread first([&] { subject.run(1); });
      std::thread second([&] { subject.run_all({2, 3}); });
      subject.await_arrival(3);
      subject.destroy();
      first.join();
      second.join();
    });
    EXPECT_EQ(fates, Fates{Fate::answered});
  }
}

// A caller may not predict its input before that of another key whose turn comes first.
TEST(BatchModel, CallersOfSeveralKeysPredictAndWaitForEachOther) {
  for (const std::size_t workers : {1u, 2u}) {
    Fates fates;
    expect_holds({.preemptions = 1}, [&] {
      Subject subject(fates, {.workers = workers}, {.keys = 2});
      std::thread caller([&] { subject.run_all({1, 2}); });
      subject.run(3);
      subject.submit(4);
      caller.join();
      subject.close(CloseMode::drain);
    });
    EXPECT_EQ(fates, Fates{Fate::answered});
  }
}

// The predict of the first batch is held: only the watch can answer the second request in time.
TEST(BatchModel, ADeadlineFiresWhileACallerPredicts) {
  Fates fates;
  expect_holds({.preemptions = 2, .time_presses = false}, [&] {
    Subject subject(fates, {.max_batch_size = 1}, {.held = true});
    std::thread caller([&] { subject.run(1); });
    subject.await_arrival(1);
    subject.submit(2, {.deadline = Execution::kStart + 10ms});
    subject.await_answer(2);
    expect(Execution::current()->now() == Execution::kStart + 10ms, "expired late");
    subject.release();
    caller.join();
  });
  EXPECT_EQ(fates, (Fates{Fate::answered, Fate::expired}));
}

// The first request waits for its delay. Whoever completes the batch may predict it, while the
// worker still sleeps until the end of the delay.
TEST(BatchModel, TheCallerThatFillsABatchPredictsIt) {
  Fates fates;
  Counts led;
  expect_holds({.preemptions = 3, .time_presses = false}, [&] {
    Subject subject(fates, {.max_batch_size = 2, .max_queue_delay = 5ms});
    std::thread caller([&] { subject.run(1); });
    subject.run(2);
    caller.join();
    led.insert(subject.led());
    expect(Execution::current()->now() == Execution::kStart, "a full batch has waited");
  });
  EXPECT_EQ(fates, Fates{Fate::answered});
  EXPECT_EQ(led, Counts{1});
}

TEST(BatchModel, AWorkerThatSleepsTakesWhatComesAfterACallersBatch) {
  Fates fates;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates, {.max_batch_size = 2, .max_queue_delay = 5ms}, {.takes = 1ms});
    std::thread caller([&] { subject.run(1); });
    subject.run(2);
    subject.submit(3);
    caller.join();
    subject.close(CloseMode::drain);
  });
  EXPECT_EQ(fates, Fates{Fate::answered});
}

TEST(BatchModel, SpuriousWakeUpsChangeNothingWhileCallersPredict) {
  Fates fates;
  expect_holds({.preemptions = 2, .spurious = 1}, [&] {
    Subject subject(fates, {.max_batch_size = 1});
    std::thread first([&] { subject.run(1); });
    subject.submit(2);
    subject.run(3);
    first.join();
    subject.close(CloseMode::drain);
  });
  EXPECT_EQ(fates, Fates{Fate::answered});
}

}  // namespace
}  // namespace vcap::model
