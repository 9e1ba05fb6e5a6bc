// SPDX-License-Identifier: Apache-2.0
// Tests of a full queue: senders wait for room, drop other requests, or are refused.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "harness/explore.hpp"
#include "subject.hpp"

namespace vcap::model {
namespace {

using namespace std::chrono_literals;

TEST(BatchModel, SendersThatWaitForRoomGetItOrAreRefusedByClose) {
  for (const bool leads : {true, false}) {
    for (const CloseMode mode : {CloseMode::drain, CloseMode::cancel}) {
      Fates fates;
      expect_holds({.preemptions = 1}, [&] {
        Subject subject(fates,
                        {.max_batch_size = 1, .max_queue_size = 1, .callers_predict = leads});
        subject.submit(1);
        std::thread first([&] { subject.run(2); });
        std::thread second([&] { subject.submit(3); });
        subject.close(mode);
        first.join();
        second.join();
      });
      EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
    }
  }
}

TEST(BatchModel, TheDestructorReleasesSendersThatWaitForRoom) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .max_queue_size = 1, .callers_predict = leads});
      std::thread sender([&] { subject.run_all({1, 2, 3}); });
      subject.await_arrival(1);
      subject.destroy();
      sender.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
  }
}

TEST(BatchModel, TheDestructorWaitsForASubmitThatWaitsForRoom) {
  Fates fates;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates, {.max_batch_size = 1, .max_queue_size = 1});
    subject.submit(1);
    subject.submit(2);
    std::thread sender([&] { subject.submit(3); });
    const Strand& its = *sender.native_handle();
    Execution::current()->reach("await that it waits", nullptr, Where::current(),
                                [&] { return its.sleeps_on || its.ended; });
    subject.destroy();
    sender.join();
  });
  EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
}

// There is no room before release(). A sender that waits for room must get an error before that.
TEST(BatchModel, CloseEndsAWaitForRoomWhilePredictRuns) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .max_queue_size = 1, .callers_predict = leads},
                      {.held = true});
      subject.submit(1);
      subject.submit(2);
      std::thread sender([&] { subject.run(3); });
      subject.expect_closing();
      std::thread closer([&] { subject.executor().close(); });
      sender.join();
      subject.release();
      closer.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
  }
}

TEST(BatchModel, AStopRequestEndsAWaitForRoomWhilePredictRuns) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .max_queue_size = 1, .callers_predict = leads},
                      {.held = true});
      subject.submit(1);
      subject.submit(2);
      std::stop_source stop;
      std::thread sender([&] { subject.run(3, {.cancellation = stop.get_token()}); });
      stop.request_stop();
      sender.join();
      subject.release();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::cancelled}));
  }
}

TEST(BatchModel, ADeadlineEndsAWaitForRoom) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 1}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .max_queue_size = 1, .callers_predict = leads},
                      {.takes = 1ms});
      std::thread sender([&] { subject.run(1, {.deadline = Execution::kStart + 1ms}); });
      subject.submit(2);
      subject.run(3);
      sender.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::expired}));
  }
}

TEST(BatchModel, ANewRequestDropsTheOldest) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 1}, [&] {
      Subject subject(fates, {.max_batch_size = 1,
                              .max_queue_size = 1,
                              .overflow = QueueOverflowPolicy::drop_oldest,
                              .callers_predict = leads});
      std::thread first([&] { subject.run(1); });
      std::thread second([&] {
        subject.submit(2);
        subject.submit(3);
      });
      subject.submit(4);
      first.join();
      second.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::full}));
  }
}

TEST(BatchModel, ManyItemsPassASmallQueueOrAreCancelled) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_queue_size = 1, .callers_predict = leads});
      std::stop_source stop;
      std::thread stopper([&] { stop.request_stop(); });
      subject.run_all({1, 2, 3}, {.cancellation = stop.get_token()});
      stopper.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::cancelled}));
  }
}

TEST(BatchModel, ManyItemsPassASmallQueueOrAreRefusedByClose) {
  for (const bool leads : {true, false}) {
    for (const CloseMode mode : {CloseMode::drain, CloseMode::cancel}) {
      Fates fates;
      expect_holds({.preemptions = 2}, [&] {
        Subject subject(fates, {.max_queue_size = 1, .callers_predict = leads});
        std::thread sender([&] { subject.run_all({1, 2, 3}); });
        subject.close(mode);
        sender.join();
      });
      EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
    }
  }
}

TEST(BatchModel, TrySubmitNeverWaits) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .max_queue_size = 1, .callers_predict = leads});
      std::thread first([&] { subject.try_submit(1); });
      std::thread second([&] { subject.run(2); });
      subject.try_submit(3);
      subject.close(CloseMode::drain);
      first.join();
      second.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::full, Fate::closed}));
  }
}

}  // namespace
}  // namespace vcap::model
