// SPDX-License-Identifier: Apache-2.0
// The search must find the errors in programs that are known to be wrong. It must also find every
// possible outcome.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "harness/explore.hpp"
#include "subject.hpp"

namespace vcap::model {
namespace {

using Texts = std::set<std::string>;

// The report of the search about the first run that fails; "" if no run fails.
std::string failure_of(const Limits& limits, const std::function<void()>& scenario) {
  return explore(limits, scenario).failure.value_or("");
}

void expect_fails(const std::string& how, const Limits& limits,
                  const std::function<void()>& scenario) {
  const std::string failure = failure_of(limits, scenario);
  EXPECT_NE(failure.find(how), std::string::npos) << "found: " << failure;
}

void lose_a_wake_up() {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> ready{false};
  std::thread waiter([&] {
    if (ready.load()) return;
    std::unique_lock lock(mutex);
    changed.wait(lock);
  });
  ready.store(true);
  changed.notify_one();
  waiter.join();
}

TEST(ModelHarness, FindsALostWakeUp) {
  expect_fails("deadlock: main waits in \"join\"", {.preemptions = 1}, lose_a_wake_up);
}

TEST(ModelHarness, FindsNothingWhenTheWakeUpIsNotLost) {
  EXPECT_EQ(failure_of({.preemptions = 3, .spurious = 1},
                       [] {
                         std::mutex mutex;
                         std::condition_variable changed;
                         bool ready = false;
                         std::thread waiter([&] {
                           std::unique_lock lock(mutex);
                           changed.wait(lock, [&] { return ready; });
                         });
                         {
                           const std::lock_guard lock(mutex);
                           ready = true;
                         }
                         changed.notify_one();
                         waiter.join();
                       }),
            "");
}

TEST(ModelHarness, FindsADeadlockOfTwoLocksWithOnePreemption) {
  const auto scenario = [] {
    std::mutex one, two;
    std::thread other([&] {
      const std::lock_guard first(two);
      const std::lock_guard second(one);
    });
    {
      const std::lock_guard first(one);
      const std::lock_guard second(two);
    }
    other.join();
  };
  EXPECT_EQ(failure_of({.preemptions = 0}, scenario), "");
  expect_fails("deadlock", {.preemptions = 1}, scenario);
}

TEST(ModelHarness, FindsAnEndlessLoop) {
  expect_fails("no end after 100 steps", {.preemptions = 0, .steps = 100}, [] {
    std::atomic<bool> done{false};
    while (!done.load()) {
    }
  });
}

TEST(ModelHarness, FindsUseAfterDestruction) {
  expect_fails("notify one after the end", {.preemptions = 1}, [] {
    auto changed = std::make_unique<std::condition_variable>();
    std::thread other([&changed = *changed] { changed.notify_one(); });
    changed.reset();
    other.join();
  });
}

TEST(ModelHarness, FindsAThreadThatNobodyJoins) {
  expect_fails("has not been joined", {.preemptions = 0}, [] { const std::thread thread([] {}); });
}

TEST(ModelHarness, FindsAWaitThatIgnoresSpuriousWakeUps) {
  const auto scenario = [] {
    std::mutex mutex;
    std::condition_variable changed;
    bool ready = false;
    std::thread waiter([&] {
      std::unique_lock lock(mutex);
      if (!ready) changed.wait(lock);
      expect(ready, "woken too early");
    });
    {
      const std::lock_guard lock(mutex);
      ready = true;
      changed.notify_one();
    }
    waiter.join();
  };
  EXPECT_EQ(failure_of({.preemptions = 2}, scenario), "");
  expect_fails("woken too early", {.preemptions = 2, .spurious = 1}, scenario);
}

TEST(ModelHarness, DetectsAScenarioThatDependsOnMoreThanItsSchedule) {
  int runs = 0;
  expect_fails("must depend on nothing but its schedule", {.preemptions = 1}, [&] {
    std::atomic<int> number{0};
    std::thread other([&] { number.fetch_add(1); });
    if (++runs % 2 == 0) std::thread([&] { number.fetch_add(1); }).join();
    number.fetch_add(1);
    other.join();
  });
}

// Two strands take two steps each on one object. There are six orders: two need no interruption,
// two need one, and two need two.
TEST(ModelHarness, RunsEveryOrderThatTheLimitAllows) {
  const auto orders_within = [](int preemptions) {
    Texts orders;
    explore({.preemptions = preemptions}, [&] {
      std::atomic<int> object{0};
      std::string order;
      const auto twice = [&](char name) {
        object.fetch_add(1);
        order += name;
        object.fetch_add(1);
        order += name;
      };
      std::thread a([&] { twice('a'); });
      std::thread b([&] { twice('b'); });
      a.join();
      b.join();
      orders.insert(order);
    });
    return orders;
  };
  EXPECT_EQ(orders_within(0), (Texts{"aabb", "bbaa"}));
  EXPECT_EQ(orders_within(1), (Texts{"aabb", "abba", "baab", "bbaa"}));
  EXPECT_EQ(orders_within(2), (Texts{"aabb", "abab", "abba", "baab", "baba", "bbaa"}));
}

TEST(ModelHarness, RunsEquivalentOrdersOnce) {
  const auto scenario = [] {
    std::atomic<int> one{0}, two{0};
    std::thread other([&] {
      for (int i = 0; i < 5; ++i) two.fetch_add(1);
    });
    for (int i = 0; i < 5; ++i) one.fetch_add(1);
    other.join();
  };
  const Exploration some = explore({.preemptions = 10}, scenario);
  const Exploration all = explore({.preemptions = 10, .repeats = true}, scenario);
  EXPECT_LT(10 * some.schedules, all.schedules);
  EXPECT_EQ(some.ends.size(), 1u);
  EXPECT_EQ(some.ends, all.ends);
}

// The same for vcap's own code: skipping known states skips no outcome.
TEST(ModelHarness, SkipsNoOutcomeOfABatch) {
  Fates fates;
  const auto scenario = [&] {
    Subject subject(fates, {.max_batch_size = 2,
                            .max_queue_delay = std::chrono::milliseconds(1),
                            .callers_predict = false});
    std::stop_source stop;
    std::thread stopper([&] { stop.request_stop(); });
    std::thread sender([&] { subject.submit(1, {.cancellation = stop.get_token()}); });
    subject.run(2);
    sender.join();
    stopper.join();
  };
  const Exploration some = explore({.preemptions = 1}, scenario);
  const Exploration all = explore({.preemptions = 1, .repeats = true}, scenario);
  EXPECT_EQ(some.failure.value_or("") + all.failure.value_or(""), "");
  EXPECT_LT(2 * some.schedules, all.schedules);
  EXPECT_GT(some.ends.size(), 100u);
  EXPECT_EQ(some.ends, all.ends);
}

TEST(ModelHarness, NotifiesAnyWaiter) {
  Texts woken;
  expect_holds({.preemptions = 1}, [&] {
    std::mutex mutex;
    std::condition_variable changed;
    int waiting = 0;
    std::string first;
    const auto wait = [&](const char* name) {
      std::unique_lock lock(mutex);
      ++waiting;
      changed.wait(lock);
      if (first.empty()) first = name;
      changed.notify_one();
    };
    std::thread a([&] { wait("a"); });
    std::thread b([&] { wait("b"); });
    Execution::current()->reach("await both", nullptr, Where::current(),
                                [&] { return waiting == 2; });
    changed.notify_one();
    a.join();
    b.join();
    woken.insert(first);
  });
  EXPECT_EQ(woken, (Texts{"a", "b"}));
}

TEST(ModelHarness, ATimedWaitTimesOutOrIsNotified) {
  const auto ends_where = [](bool time_presses) {
    Texts ends;
    expect_holds({.preemptions = 1, .time_presses = time_presses}, [&] {
      std::mutex mutex;
      std::condition_variable changed;
      bool ready = false;
      std::thread other([&] {
        const std::lock_guard lock(mutex);
        ready = true;
        changed.notify_one();
      });
      std::unique_lock lock(mutex);
      const auto end = Execution::kStart + std::chrono::seconds(1);
      std::cv_status status = std::cv_status::no_timeout;
      while (!ready && status == std::cv_status::no_timeout) status = changed.wait_until(lock, end);
      expect(ready || Execution::current()->now() == end, "neither the time nor a notification");
      ends.insert(ready ? "notified" : "late");
      lock.unlock();
      other.join();
    });
    return ends;
  };
  EXPECT_EQ(ends_where(true), (Texts{"late", "notified"}));
  EXPECT_EQ(ends_where(false), Texts{"notified"});
}

TEST(ModelHarness, DestroyingAStopCallbackWaitsForItsEnd) {
  Texts orders;
  expect_holds({.preemptions = 2}, [&] {
    std::stop_source source;
    std::atomic<int> steps{0};
    bool within = false, called = false;
    std::thread stopper([&] { source.request_stop(); });
    {
      const std::stop_callback callback(source.get_token(), [&] {
        within = called = true;
        steps.fetch_add(1);
        within = false;
      });
      steps.fetch_add(1);
    }
    expect(!within, "a callback runs on after its end");
    orders.insert(called ? "called" : "removed before");
    stopper.join();
  });
  EXPECT_EQ(orders, (Texts{"called", "removed before"}));
}

TEST(ModelHarness, AStopCallbackMayDestroyItself) {
  expect_holds({.preemptions = 1}, [] {
    struct Destroy {
      void operator()() const { all->reset(); }
      std::optional<std::stop_callback<Destroy>>* all;
    };
    std::stop_source source;
    std::optional<std::stop_callback<Destroy>> callback;
    callback.emplace(source.get_token(), Destroy{&callback});
    source.request_stop();
    expect(!callback, "the callback was not called");
  });
}

// Each strand handles its own exceptions, whichever strand runs next.
TEST(ModelHarness, StrandsKeepTheirExceptionsApart) {
  expect_holds({.preemptions = 3}, [] {
    std::atomic<int> object{0};
    const auto rethrow = [&](const std::string& text) {
      try {
        try {
          throw std::runtime_error(text);
        } catch (...) {
          object.fetch_add(1);
          throw;
        }
      } catch (const std::runtime_error& error) {
        object.fetch_add(1);
        expect(error.what() == text, "somebody else's exception");
        expect(std::uncaught_exceptions() == 0, "somebody else's unwinding");
      }
    };
    std::thread other([&] { rethrow("other"); });
    rethrow("main");
    other.join();
  });
}

TEST(ModelHarness, ReplaysTheScheduleThatAFailureNames) {
  const std::string failure = failure_of({.preemptions = 1}, lose_a_wake_up);
  const std::string name = "VCAP_MODEL_SCHEDULE=";
  const auto begin = failure.find(name) + name.size();
  ASSERT_GE(begin, name.size());
  const std::string schedule = failure.substr(begin, failure.find(' ', begin) - begin);
  ::setenv("VCAP_MODEL_SCHEDULE", schedule.c_str(), 1);
  EXPECT_NONFATAL_FAILURE(expect_holds({}, lose_a_wake_up), failure);
  ::unsetenv("VCAP_MODEL_SCHEDULE");
}

}  // namespace
}  // namespace vcap::model
