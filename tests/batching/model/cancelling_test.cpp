// SPDX-License-Identifier: Apache-2.0
// Tests of stop tokens that race with answers and with the end of an executor.
#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "harness/explore.hpp"
#include "subject.hpp"

namespace vcap::model {
namespace {

TEST(BatchModel, AStopRequestRacesWithAFutureAndWithClose) {
  Fates fates;
  expect_holds({.preemptions = 2}, [&] {
    Subject subject(fates);
    std::stop_source stop;
    std::thread stopper([&] { stop.request_stop(); });
    std::thread sender([&] { subject.submit(1, {.cancellation = stop.get_token()}); });
    subject.close(CloseMode::drain);
    sender.join();
    stopper.join();
  });
  EXPECT_EQ(fates, (Fates{Fate::answered, Fate::cancelled, Fate::closed}));
}

TEST(BatchModel, AStopRequestRacesWithACallerAndWithTheDestructor) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.callers_predict = leads});
      std::stop_source stop;
      std::thread stopper([&] { stop.request_stop(); });
      std::thread sender([&] { subject.run(1, {.cancellation = stop.get_token()}); });
      subject.await_arrival(1);
      subject.destroy();
      sender.join();
      stopper.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::cancelled}));
  }
}

TEST(BatchModel, OneStopRequestReachesSeveralRequests) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .callers_predict = leads});
      std::stop_source stop;
      std::thread stopper([&] { stop.request_stop(); });
      subject.submit(1, {.cancellation = stop.get_token()});
      subject.run(2, {.cancellation = stop.get_token()});
      stopper.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::cancelled}));
  }
}

}  // namespace
}  // namespace vcap::model
