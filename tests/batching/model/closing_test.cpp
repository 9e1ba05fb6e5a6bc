// SPDX-License-Identifier: Apache-2.0
// Tests of requests that race with the end of an executor.
#include <gtest/gtest.h>

#include <thread>

#include "harness/explore.hpp"
#include "subject.hpp"

namespace vcap::model {
namespace {

TEST(BatchModel, CloseAnswersAcceptedRequestsAndRefusesTheRest) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 1}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .callers_predict = leads});
      std::thread first([&] { subject.run(1); });
      std::thread second([&] { subject.run(2); });
      subject.close(CloseMode::drain);
      first.join();
      second.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
  }
}

TEST(BatchModel, CloseCancelsWaitingRequests) {
  Fates fates;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates, {.max_batch_size = 1});
    std::thread sender([&] {
      subject.submit(1);
      subject.submit(2);
      subject.submit(3);
    });
    subject.close(CloseMode::cancel);
    sender.join();
  });
  EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
}

TEST(BatchModel, TwoCallsOfCloseBothWaitForTheEnd) {
  Fates fates;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates);
    subject.submit(1);
    std::thread second([&] { subject.executor().close(CloseMode::cancel); });
    subject.close(CloseMode::drain);
    second.join();
  });
  EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
}

}  // namespace
}  // namespace vcap::model
