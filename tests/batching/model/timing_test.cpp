// SPDX-License-Identifier: Apache-2.0
// Tests of waits that may time out: deadlines, delays and the linger.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "harness/explore.hpp"
#include "subject.hpp"

namespace vcap::model {
namespace {

using namespace std::chrono_literals;

const auto kDeadline = Execution::kStart + 10ms;

TEST(BatchModel, ADeadlineRacesWithTheWorkerAndWithClose) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .callers_predict = leads}, {.takes = 6ms});
      std::thread sender([&] { subject.run(1, {.deadline = kDeadline}); });
      subject.submit(2);
      subject.close(CloseMode::cancel);
      sender.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::expired, Fate::closed}));
  }
}

TEST(BatchModel, ADeadlineEndsAWaitWhileEveryWorkerPredicts) {
  Fates fates;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates, {.max_batch_size = 1});
    subject.submit(1);
    subject.submit(2, {.deadline = kDeadline});
    subject.submit(3, {.deadline = kDeadline + 1ms});
    std::thread closer([&] { subject.executor().close(CloseMode::drain); });
    subject.await_answer(2);
    subject.await_answer(3);
    closer.join();
  });
  EXPECT_EQ(fates, (Fates{Fate::answered, Fate::expired}));
}

TEST(BatchModel, AnEarlierDeadlineWakesTheThreadThatSleepsUntilALaterOne) {
  Fates fates;
  expect_holds({.preemptions = 2, .time_presses = false}, [&] {
    Subject subject(fates, {.max_batch_size = 1}, {.held = true});
    subject.submit(1);
    subject.await_arrival(1);
    subject.submit(2, {.deadline = kDeadline + 1ms});
    subject.submit(3, {.deadline = kDeadline});
    subject.await_answer(3);
    expect(Execution::current()->now() == kDeadline, "expired late");
    subject.await_answer(2);
    expect(Execution::current()->now() == kDeadline + 1ms, "expired late");
    subject.release();
  });
  EXPECT_EQ(fates, (Fates{Fate::answered, Fate::expired}));
}

TEST(BatchModel, ADelayEndsAtItsTimeOrWithASecondRequest) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates,
                      {.max_batch_size = 2, .max_queue_delay = 5ms, .callers_predict = leads},
                      {.takes = 1ms});
      std::thread first([&] { subject.run(1); });
      std::thread second([&] { subject.run(2); });
      first.join();
      second.join();
    });
    EXPECT_EQ(fates, Fates{Fate::answered});
  }
}

// Without `time_presses`, time passes only when all strands wait. Then a timeout hides a lost
// wake-up, but the time that has passed shows it.
TEST(BatchModel, AFullBatchDoesNotWait) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 3, .time_presses = false}, [&] {
      Subject subject(fates,
                      {.max_batch_size = 2, .max_queue_delay = 5ms, .callers_predict = leads});
      std::thread first([&] { subject.run(1); });
      std::thread second([&] { subject.run(2); });
      first.join();
      second.join();
      expect(Execution::current()->now() == Execution::kStart, "a full batch has waited");
    });
    EXPECT_EQ(fates, Fates{Fate::answered});
  }
}

TEST(BatchModel, CloseDoesNotWaitForDelaysOrDeadlines) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 3, .time_presses = false}, [&] {
      Subject subject(fates, {.max_queue_delay = 5ms, .callers_predict = leads});
      std::thread sender([&] { subject.run(1); });
      subject.submit(2, {.deadline = kDeadline});
      subject.close(CloseMode::drain);
      sender.join();
      expect(Execution::current()->now() == Execution::kStart, "the end has waited");
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
  }
}

TEST(BatchModel, TheLingerEndsAtItsTimeOrWhenCallersComeBack) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 1}, [&] {
      Subject subject(fates, {.max_batch_size = 2, .linger_share = 1, .callers_predict = leads},
                      {.takes = 1ms});
      std::thread first([&] {
        subject.run(1);
        subject.run(2);
      });
      subject.run(3);
      subject.run(4);
      first.join();
    });
    EXPECT_EQ(fates, Fates{Fate::answered});
  }
}

}  // namespace
}  // namespace vcap::model
