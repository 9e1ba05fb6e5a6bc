// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstddef>
#include <future>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "support/allocations.hpp"
#include "support/lone_queue.hpp"

namespace vcap::bench::batching {
namespace {

/// Every producer keeps kWindow futures of `submit` outstanding.
template <class Submit>
double producing(int producers, Submit submit) {
  return seconds([&] {
    on_threads(producers, [&](int requests) {
      windowed(
          kWindow, [=](int i) { return i < requests; }, submit);
    });
  });
}

double through_futures(int producers) {
  Executor executor(echo, large_batches());
  executor.submit(0).get();  // starts its thread
  return producing(producers, [&](int input) { return executor.submit(input); });
}

double lone_queue_with_promises(int producers) {
  struct Item {
    int input;
    std::promise<int> promise;
  };
  LoneQueue<Item> queue([](std::vector<Item>& items) {
    for (Item& item : items) item.promise.set_value(item.input);
  });
  return producing(producers, [&](int input) {
    Item item{input, {}};
    auto future = item.promise.get_future();
    queue.push(std::move(item));
    return future;
  });
}

/// The cost of passing numbers to another thread, without answers.
double lone_queue(int producers) {
  std::atomic<long> sum{0};
  return seconds([&] {
    LoneQueue<int> queue([&](std::vector<int>& items) {
      long part = 0;
      for (const int item : items) part += item;
      sum += part;
    });
    on_threads(producers, [&](int requests) {
      for (int i = 0; i < requests; ++i) queue.push(i);
    });
  });
}

/// The same, but a producer learns that its items are done, once per kWindow items.
double lone_queue_that_answers(int producers) {
  struct Item {
    int input;
    std::binary_semaphore* answered;  // set for the last item of a window
  };
  std::atomic<long> sum{0};
  return seconds([&] {
    LoneQueue<Item> queue([&](std::vector<Item>& items) {
      for (const Item& item : items) {
        sum += item.input;
        if (item.answered) item.answered->release();
      }
    });
    on_threads(producers, [&](int requests) {
      std::binary_semaphore answered(0);
      for (int i = 0; i < requests; ++i) {
        const bool last = (i + 1) % kWindow == 0;
        queue.push({i, last ? &answered : nullptr});
        if (last) answered.acquire();
      }
    });
  });
}

// Requests of callers that each have one request outstanding; so there are fewer requests.
const int kSingle = workload(5'000, 160);

template <class Call>
double one_at_a_time(int callers, Call call) {
  Executor executor(echo, large_batches());
  executor.submit(0).get();  // starts its thread
  return seconds([&] {
    std::vector<std::jthread> all;
    for (int i = 0; i < callers; ++i)
      all.emplace_back([&] {
        for (int n = 0; n < kSingle / callers; ++n) call(executor, n);
      });
  });
}

double fused(int callers) {
  return one_at_a_time(callers, [](Executor& executor, int n) { executor.run(n); });
}

double unfused(int callers) {
  return one_at_a_time(callers, [](Executor& executor, int n) { executor.submit(n).get(); });
}

/// Calls a second of one caller, when predict does nothing but give a number.
double empty_predicts_a_second() {
  Executor executor([](std::span<const int> inputs, BatchOutputs<int>& outputs) {
    for (const int input : inputs) outputs.add(int{input});
  });
  executor.run(0);
  const int calls = workload(1'000'000, 1'000);
  return calls / seconds([&] {
           for (int i = 0; i < calls; ++i) executor.run(i);
         });
}

/// The cost of blocking only: callers on a lone queue, each with a semaphore for its wait.
double blocked_on_a_lone_queue(int callers) {
  struct Item {
    std::binary_semaphore* answered;
  };
  LoneQueue<Item> queue([](std::vector<Item>& items) {
    for (Item& item : items) item.answered->release();
  });
  return seconds([&] {
    std::vector<std::jthread> all;
    for (int i = 0; i < callers; ++i)
      all.emplace_back([&] {
        std::binary_semaphore answered(0);
        for (int n = 0; n < kSingle / callers; ++n) {
          queue.push({&answered});
          answered.acquire();
        }
      });
  });
}

/// Calls of operator new per request, without predict's own vector of results.
template <class Call>
double allocations_each(int requests, Call call) {
  std::atomic<std::size_t> of_predict{0};
  Executor executor([&](std::span<const int> inputs) {
    of_predict.fetch_add(1, std::memory_order_relaxed);
    return echo(inputs);
  });
  for (int i = 0; i < 10; ++i) call(executor);
  of_predict = 0;
  const std::size_t before = allocations();
  for (int i = 0; i < 1000; ++i) call(executor);
  const auto own = static_cast<double>(allocations() - before - of_predict);
  return own / 1000 / requests;
}

}  // namespace

std::vector<Figure> request_cost() {
  std::vector<Figure> figures;
  for (const int producers : {1, 4, 16})
    figures.push_back({.id = "batching.1",
                       .what = "futures, " + std::to_string(producers) +
                               " producers, time of a lone queue with promises",
                       .target = 1.3,
                       .sample = [=] {
                         return ratio([=] { return through_futures(producers); },
                                      [=] { return lone_queue_with_promises(producers); });
                       }});
  for (const int producers : {1, 4, 16}) {
    const std::string who = "run_all, " + std::to_string(producers) + " producers, time of ";
    figures.push_back({.id = "batching.2", .what = who + "futures", .target = 0.35, .sample = [=] {
                         return ratio([=] { return through_run_all(producers); },
                                      [=] { return through_futures(producers); });
                       }});
    figures.push_back({.id = "batching.2",
                       .what = who + "a lone queue without answers",
                       .target = 2,
                       .sample = [=] {
                         return ratio([=] { return through_run_all(producers); },
                                      [=] { return lone_queue(producers); });
                       }});
    figures.push_back({.id = "batching.2",
                       .what = "floor of " + who + "a lone queue without answers",
                       .target = 2,
                       .sample = [=] {
                         return ratio([=] { return lone_queue_that_answers(producers); },
                                      [=] { return lone_queue(producers); });
                       }});
  }
  for (const int callers : {1, 16}) {
    figures.push_back({.id = "batching.2",
                       .what = "floor of run: " + std::to_string(callers) +
                               " callers blocked on a lone queue, time of submit().get()",
                       .target = 0.35,
                       .sample = [=] {
                         return ratio([=] { return blocked_on_a_lone_queue(callers); },
                                      [=] { return unfused(callers); });
                       }});
    figures.push_back(
        {.id = "batching.2",
         .what = "run, " + std::to_string(callers) + " callers, time of submit().get()",
         .target = 0.35,
         .sample = [=] {
           return ratio([=] { return fused(callers); }, [=] { return unfused(callers); });
         }});
  }
  figures.push_back({.id = "batching.2",
                     .what = "run of an empty predict, one caller, calls a second",
                     .target = 1e6,
                     .better = Better::higher,
                     .sample = empty_predicts_a_second});
  figures.push_back(
      {.id = "batching.2",
       .what = "allocations for each request of run",
       .target = 0,
       .sample = [] { return allocations_each(1, [](Executor& executor) { executor.run(1); }); }});
  figures.push_back({.id = "batching.2",
                     .what = "allocations for each request of run_all of 40, its vectors included",
                     .target = 0.1,  // three vectors for all (inputs, outputs, nodes), and a rest
                     .sample = [] {
                       return allocations_each(
                           40, [](Executor& executor) { executor.run_all(std::vector<int>(40)); });
                     }});
  return figures;
}

}  // namespace vcap::bench::batching
