// SPDX-License-Identifier: Apache-2.0
// What a request costs, how full batches get without tuning, and what waiting costs.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/figures.hpp"
#include "support/lone_queue.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace {

using namespace std::chrono_literals;
using vcap::bench::Better;
using vcap::bench::Figure;
using vcap::bench::LoneQueue;
using vcap::bench::ratio;
using vcap::bench::seconds;
using Clock = std::chrono::steady_clock;
using Executor = vcap::BatchExecutor<int, int>;

// Requests of one sample: enough that starting threads does not count.
constexpr int kRequests = 100'000;
constexpr std::size_t kWindow = 256;

std::vector<int> echo(std::span<const int> inputs) { return {inputs.begin(), inputs.end()}; }

vcap::BatchPolicy large_batches() { return {.max_batch_size = kWindow}; }

/// Runs `work(n)` on so many threads at once, each with its share of kRequests.
void on_threads(int threads, const std::function<void(int)>& work) {
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&] { work(kRequests / threads); });
}

/// Keeps kWindow futures outstanding.
template <class Submit>
void windowed(int requests, Submit submit) {
  std::vector<std::future<int>> window(kWindow);
  for (int i = 0; i < requests; ++i) {
    std::future<int>& slot = window[static_cast<std::size_t>(i) % kWindow];
    if (slot.valid()) slot.get();
    slot = submit(i);
  }
  for (std::future<int>& slot : window)
    if (slot.valid()) slot.get();
}

double through_futures(int producers) {
  Executor executor(echo, large_batches());
  executor.run(0);
  return seconds([&] {
    on_threads(producers, [&](int requests) {
      windowed(requests, [&](int input) { return executor.submit(input); });
    });
  });
}

double lone_queue_with_promises(int producers) {
  struct Item {
    int input;
    std::promise<int> promise;
  };
  LoneQueue<Item> queue([](std::vector<Item>& items) {
    for (Item& item : items) item.promise.set_value(item.input);
  });
  return seconds([&] {
    on_threads(producers, [&](int requests) {
      windowed(requests, [&](int input) {
        Item item{input, {}};
        auto future = item.promise.get_future();
        queue.push(std::move(item));
        return future;
      });
    });
  });
}

/// No answers at all: what handing numbers over costs.
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

double through_run_all(int producers) {
  Executor executor(echo, large_batches());
  executor.run(0);
  return seconds([&] {
    on_threads(producers, [&](int requests) {
      for (int done = 0; done < requests; done += static_cast<int>(kWindow))
        executor.run_all(std::vector<int>(kWindow, done));
    });
  });
}

// Callers that each have one request outstanding, so fewer requests in all.
constexpr int kSingle = 5'000;

template <class Call>
double one_at_a_time(int callers, Call call) {
  Executor executor(echo, large_batches());
  executor.run(0);
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

/// operator new per request; predict's own vector of results is not the executor's.
template <class Call>
double allocations_each(int requests, Call call) {
  std::atomic<std::size_t> of_predict{0};
  Executor executor([&](std::span<const int> inputs) {
    of_predict.fetch_add(1, std::memory_order_relaxed);
    return echo(inputs);
  });
  for (int i = 0; i < 10; ++i) call(executor);
  of_predict = 0;
  const std::size_t before = vcap::bench::allocations();
  for (int i = 0; i < 1000; ++i) call(executor);
  const auto own = static_cast<double>(vcap::bench::allocations() - before - of_predict);
  return own / 1000 / requests;
}

/// A device that takes a + b·n microseconds for n inputs.
struct Device {
  int a, b;
  void predict(std::size_t n) const {
    const auto until = Clock::now() + std::chrono::microseconds(a + b * static_cast<int>(n));
    while (Clock::now() < until) {
    }
  }
};

constexpr auto kLoop = 150ms;  // of one sample of a closed loop

/// Items a second of a loop that is always given full batches.
double full_batches(Device device, int streams) {
  std::size_t items = 0;
  const double took = seconds([&] {
    for (const auto end = Clock::now() + kLoop; Clock::now() < end;) {
      device.predict(static_cast<std::size_t>(streams));
      items += static_cast<std::size_t>(streams);
    }
  });
  return static_cast<double>(items) / took;
}

/// Items a second where every stream waits for its answer and then sends again.
double closed_loop(Device device, int streams) {
  Executor executor([&](std::span<const int> inputs) {
    device.predict(inputs.size());
    return echo(inputs);
  });
  std::atomic<std::size_t> items{0};
  const double took = seconds([&] {
    const auto end = Clock::now() + kLoop;
    std::vector<std::jthread> callers;
    for (int i = 0; i < streams; ++i)
      callers.emplace_back([&] {
        for (; Clock::now() < end; ++items) executor.run(1);
      });
  });
  return static_cast<double>(items) / took;
}

/// Items a second where the streams meet at a barrier, and one of them predicts for all.
double barrier_loop(Device device, int streams) {
  std::atomic<bool> over{false};
  std::size_t items = 0;
  const auto end = Clock::now() + kLoop;
  std::barrier barrier(streams, [&]() noexcept {
    device.predict(static_cast<std::size_t>(streams));
    items += static_cast<std::size_t>(streams);
    over = Clock::now() >= end;
  });
  const double took = seconds([&] {
    std::vector<std::jthread> callers;
    for (int i = 0; i < streams; ++i)
      callers.emplace_back([&] {
        while (!over) barrier.arrive_and_wait();
      });
  });
  return static_cast<double>(items) / took;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

constexpr int kTrips = 2000;

double latency_alone() {
  Executor executor(echo);
  std::vector<double> trips;
  for (int i = 0; i < kTrips; ++i) trips.push_back(seconds([&] { executor.run(i); }));
  return median(std::move(trips));
}

/// There and back between two threads over one mutex and one condition variable each way.
double ping_pong() {
  std::mutex mutex;
  std::condition_variable there, back;
  int turn = 0;  // 1: the partner's, 0: ours, -1: over
  std::jthread partner([&] {
    std::unique_lock lock(mutex);
    for (;;) {
      there.wait(lock, [&] { return turn != 0; });
      if (turn < 0) return;
      turn = 0;
      back.notify_one();
    }
  });
  std::vector<double> trips;
  for (int i = 0; i < kTrips; ++i)
    trips.push_back(seconds([&] {
      std::unique_lock lock(mutex);
      turn = 1;
      there.notify_one();
      back.wait(lock, [&] { return turn == 0; });
    }));
  {
    const std::lock_guard lock(mutex);
    turn = -1;
  }
  there.notify_one();
  return median(std::move(trips));
}

/// How often this process's threads have gone to sleep, and been woken again.
long wake_ups() {
  long count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;)
      if (word == "voluntary_ctxt_switches:") {
        long of_thread = 0;
        status >> of_thread;
        count += of_thread;
      }
  }
  return count;
}

double cpu_milliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

/// What `measure` counts up over 10 s in which an executor, used before, has nothing to do.
double over_idle_time(const std::function<double()>& measure) {
  Executor executor(echo);
  executor.run(0);
  std::this_thread::sleep_for(200ms);  // TBB's own threads come to rest
  const double before = measure();
  std::this_thread::sleep_for(10s);
  return measure() - before;
}

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
  }
  for (const int callers : {1, 16})
    figures.push_back(
        {.id = "batching.2",
         .what = "run, " + std::to_string(callers) + " callers, time of submit().get()",
         .target = 0.35,
         .sample = [=] {
           return ratio([=] { return fused(callers); }, [=] { return unfused(callers); });
         }});
  figures.push_back(
      {.id = "batching.2",
       .what = "allocations for each request of run",
       .target = 0,
       .sample = [] { return allocations_each(1, [](Executor& executor) { executor.run(1); }); }});
  figures.push_back({.id = "batching.2",
                     .what = "allocations for each request of run_all of 40, its vectors included",
                     .target = 0.1,  // inputs, outputs, nodes: three vectors for all, and a rest
                     .sample = [] {
                       return allocations_each(
                           40, [](Executor& executor) { executor.run_all(std::vector<int>(40)); });
                     }});
  return figures;
}

std::vector<Figure> batch_efficiency() {
  std::vector<Figure> figures;
  for (const Device device : {Device{2000, 50}, Device{500, 100}, Device{5000, 250}})
    for (const int streams : {8, 16, 32}) {
      const std::string who = std::to_string(streams) + " streams, " + std::to_string(device.a) +
                              " + " + std::to_string(device.b) + "n µs, rate of ";
      const auto ratio_to = [=](double (*baseline)(Device, int)) {
        return [=] {
          return ratio([=] { return closed_loop(device, streams); },
                       [=] { return baseline(device, streams); });
        };
      };
      figures.push_back({.id = "batching.3",
                         .what = who + "full batches",
                         .target = 0.93,
                         .better = Better::higher,
                         .sample = ratio_to(full_batches)});
      figures.push_back({.id = "batching.3",
                         .what = who + "a barrier",
                         .target = 0.97,
                         .better = Better::higher,
                         .sample = ratio_to(barrier_loop)});
    }
  return figures;
}

std::vector<Figure> waiting() {
  return {{.id = "batching.4",
           .what = "one caller, median round trip, that of a ping-pong",
           .target = 1.15,
           .sample = [] { return ratio(latency_alone, ping_pong); }},
          {.id = "batching.4",
           .what = "wake-ups in 10 idle seconds, above those without an executor",
           .target = 0,
           // The measuring thread's own sleep is one.
           .sample = [] { return over_idle_time([] { return double(wake_ups()); }) - 1; },
           .samples = 1},
          {.id = "batching.4",
           .what = "CPU in 10 idle seconds, ms",
           .target = 1,
           .sample = [] { return over_idle_time(cpu_milliseconds); },
           .samples = 1}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Figure> figures;
  for (const auto& part : {request_cost(), batch_efficiency(), waiting()})
    figures.insert(figures.end(), part.begin(), part.end());
  return vcap::bench::run_figures(argc, argv, figures);
}
