// SPDX-License-Identifier: Apache-2.0
// Tests of requests with one or several workers. At the end, every request must be answered.
#include <gtest/gtest.h>

#include <thread>

#include "harness/explore.hpp"
#include "subject.hpp"

namespace vcap::model {
namespace {

TEST(BatchModel, TheDestructorAnswersWaitingCallers) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 1}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .callers_predict = leads});
      std::thread first([&] { subject.run(1); });
      std::thread second([&] { subject.run(2); });
      subject.await_arrival(2);
      subject.destroy();
      first.join();
      second.join();
    });
    EXPECT_EQ(fates, Fates{Fate::answered});
  }
}

TEST(BatchModel, CallersThatComeBackAreAnsweredAgain) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 1}, [&] {
      Subject subject(fates, {.adaptive_linger = false, .callers_predict = leads});
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

TEST(BatchModel, SeveralWorkersAnswerAll) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .workers = 2, .callers_predict = leads});
      std::thread first([&] { subject.run(1); });
      subject.submit(2);
      subject.submit(3);
      subject.close(CloseMode::drain);
      first.join();
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::closed}));
  }
}

TEST(BatchModel, SpuriousWakeUpsChangeNothing) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2, .spurious = 2}, [&] {
      Subject subject(fates, {.max_batch_size = 1, .workers = 2, .callers_predict = leads});
      std::thread first([&] { subject.run(1); });
      subject.submit(2);
      first.join();
      subject.close(CloseMode::drain);
    });
    EXPECT_EQ(fates, Fates{Fate::answered});
  }
}

TEST(BatchModel, OneBadInputFailsAloneWhenFailuresAreIsolated) {
  for (const bool leads : {true, false}) {
    Fates fates;
    expect_holds({.preemptions = 2}, [&] {
      Subject subject(fates, {.isolate_failures = true, .callers_predict = leads}, {.bad = {2}});
      std::thread other([&] { subject.run(2); });
      subject.submit(1);
      subject.run(3);
      other.join();
      subject.close(CloseMode::drain);
      expect(subject.count(Fate::answered) == 2, "a good input fails");
    });
    EXPECT_EQ(fates, (Fates{Fate::answered, Fate::failed}));
  }
}

}  // namespace
}  // namespace vcap::model
