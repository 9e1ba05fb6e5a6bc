// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"
#include "support/ping_pong.hpp"
#include "support/quantile.hpp"

namespace vcap::bench::batching {
namespace {

using namespace std::chrono_literals;

const int kTrips = workload(1000, 10);

double latency_alone() {
  Executor executor(echo);
  std::vector<double> trips;
  for (int i = 0; i < kTrips; ++i) trips.push_back(seconds([&] { executor.run(i); }));
  return quantile(std::move(trips), 0.5);
}

/// How often the threads of this process have gone to sleep and been woken.
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

/// How much `measure` grows in 10 s while an executor is idle; the executor was used before.
double over_idle_time(const std::function<double()>& measure) {
  Executor executor(echo);
  executor.submit(0).get();
  std::this_thread::sleep_for(200ms);  // until the threads of TBB are idle
  const double before = measure();
  std::this_thread::sleep_for(workload<Clock::duration>(10s, 10ms));
  return measure() - before;
}

}  // namespace

std::vector<Figure> waiting() {
  return {
      {.id = "batching.4",
       .what = "one caller, median round trip, that of a ping-pong",
       .target = 1.15,
       // A round trip depends on where the scheduler puts two threads, so there are many rounds.
       .sample =
           [] {
             return ratio(
                 latency_alone, [] { return ping_pong(kTrips); }, 9);
           }},
      {.id = "batching.4",
       .what = "wake-ups in 10 idle seconds, above those without an executor",
       .target = 0,
       // One of these sleeps is that of the measuring thread.
       .sample = [] { return over_idle_time([] { return double(wake_ups()); }) - 1; },
       .samples = 1},
      {.id = "batching.4",
       .what = "CPU in 10 idle seconds, ms",
       .target = 1,
       .sample = [] { return over_idle_time(cpu_milliseconds); },
       .samples = 1}};
}

}  // namespace vcap::bench::batching
