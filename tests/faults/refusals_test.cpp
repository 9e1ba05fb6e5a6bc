// SPDX-License-Identifier: Apache-2.0
// Threads that the system refuses, and memory that one thread does not get while others work.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/function_lane.hpp"
#include "support/operation_helpers.hpp"
#include "vcap/base/log.hpp"
#include "vcap/batching/batch_executor.hpp"
#include "workers/work_pool.hpp"

namespace {

thread_local long allocations_left = -1;  ///< before one fails; below 0: none fails
std::atomic<long> threads_left{-1};       ///< the same for threads

}  // namespace

// They replace those of the C++ and the C library for the whole program.
void* operator new(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  if (threads_left >= 0 && threads_left-- == 0) {
    for (int i = 0; i < 100; ++i) ::sched_yield();  // others see what the caller has done so far
    return EAGAIN;
  }
  static const auto real =
      reinterpret_cast<decltype(&::pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, run, argument);
}

namespace vcap::test {
namespace {

/// Calls it with the allocation `nth` of this thread failing, from 0. False if it made fewer.
bool runs_into_failed_allocation(long nth, const std::function<void()>& call) {
  allocations_left = nth;
  try {
    call();
  } catch (const std::bad_alloc&) {
  } catch (const BatchError&) {
  }
  return std::exchange(allocations_left, -1) < 0;
}

TEST(WorkPoolWithoutMemory, RunsWhatIsPostedAgain) {
  std::atomic<int> runs = 0;
  Latch begun, go, done;
  const auto counted = function_lane([&] { ++runs; });
  const auto last = function_lane([&] { done.open(); });
  WorkPool pool(1);
  pool.post(function_lane([&] {
    begun.open();
    go.wait();
  }));
  begun.wait();
  int posted = 0;
  for (bool failed = false; !failed; ++posted) {
    const auto fresh = function_lane([&] { ++runs; });
    failed = runs_into_failed_allocation(0, [&] { pool.post(fresh); });
    if (failed) pool.post(fresh);
    ASSERT_LT(posted, 1000) << "the queue of lanes never grows";
  }
  pool.post(last);
  go.open();
  done.wait();
  EXPECT_EQ(runs, posted);
}

TEST(WorkPoolWithoutMemory, DoesWithoutAnotherThread) {
  bool failed = true;
  for (long nth = 0; failed; ++nth) {
    Latch begun, go, done;
    const auto next = function_lane([&] { done.open(); });
    WorkPool pool(2);
    pool.post(function_lane([&] {
      begun.open();
      go.wait();
    }));
    begun.wait();
    failed = runs_into_failed_allocation(nth, [&] { pool.post(next); });
    EXPECT_EQ(pool.threads(), failed ? 1u : 2u) << nth;
    go.open();
    done.wait();
  }
}

TEST(BatchExecutorWithoutMemory, AnswersTheRequestThatItDrops) {
  bool failed = true;
  for (long nth = 0; failed; ++nth) {
    Latch entered, release;
    BatchExecutor<int, int> executor(
        [&](std::span<const int> inputs) {
          entered.open();
          release.wait();
          return std::vector<int>(inputs.begin(), inputs.end());
        },
        {.max_batch_size = 1, .max_queue_size = 1, .overflow = QueueOverflowPolicy::drop_oldest});
    auto running = executor.submit(1);
    entered.wait();
    auto oldest = executor.submit(2);
    std::optional<std::future<int>> newest;
    failed = runs_into_failed_allocation(nth, [&] { newest = executor.submit(3); });
    release.open();
    EXPECT_EQ(running.get(), 1);
    if (newest) {
      EXPECT_EQ(newest->get(), 3);
      EXPECT_ANY_THROW(oldest.get());
    } else {
      try {
        EXPECT_EQ(oldest.get(), 2);
      } catch (const BatchError&) {  // dropped, before the sender got its error
      }
    }
  }
}

TEST(BatchExecutorWithoutThreads, LetsItsWorkersDoTheWork) {
  Latch entered, release;
  BatchExecutor<int, int> executor(
      [&](std::span<const int> inputs) {
        entered.open();
        release.wait();
        return std::vector<int>(inputs.begin(), inputs.end());
      },
      {.max_batch_size = 1, .workers = 2});
  threads_left = 0;
  EXPECT_THROW(executor.submit(0), std::system_error) << "there is no worker";
  auto first = executor.submit(1);
  entered.wait();
  threads_left = 0;
  auto second = executor.submit(2);
  threads_left = -1;
  release.open();
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 2);
}

// A caller needs no thread. If it would wait for a better batch, but nobody can be started who
// keeps the time, it does not wait.
TEST(BatchExecutorWithoutThreads, LetsItsCallersPredict) {
  BatchExecutor<int, int> executor(
      [](std::span<const int> inputs) { return std::vector<int>(inputs.begin(), inputs.end()); },
      {.max_batch_size = 2, .max_queue_delay = std::chrono::hours(1)});
  const auto hour = std::chrono::steady_clock::now() + std::chrono::hours(1);
  threads_left = 0;
  EXPECT_EQ(executor.run(1), 1);
  EXPECT_LT(threads_left, 0) << "no thread was asked for to keep the time of the delay";
  threads_left = 0;
  EXPECT_EQ(executor.run_all({1, 2, 3, 4, 5}, {.deadline = hour}).back(), 5);
  EXPECT_LT(threads_left, 0);
  threads_left = -1;
}

TEST(BatchExecutorWithoutMemory, AnswersOrRefusesACallerThatPredicts) {
  bool failed = true;
  for (long nth = 0; failed; ++nth) {
    BatchExecutor<int, int> executor(
        [](std::span<const int> inputs) { return std::vector<int>(inputs.begin(), inputs.end()); },
        {.max_batch_size = 2});
    std::vector<int> answers;
    failed = runs_into_failed_allocation(nth, [&] { answers = executor.run_all({1, 2, 3}); });
    if (!failed) {
      EXPECT_EQ(answers, (std::vector<int>{1, 2, 3}));
    }
    EXPECT_EQ(executor.run(4), 4) << nth;
    EXPECT_EQ(executor.workload(), 0u) << nth;
  }
}

TEST(PipelineWithoutThreads, RefusesAStreamWhoseDeadlineNobodyWouldWatch) {
  Pipeline pipeline({make_detector("people", "person")});
  const auto open = [&] {
    pipeline.open_stream({.id = "s",
                          .source = make_source(1),
                          .pull = true,
                          .capsule_deadline = std::chrono::hours(1)});
  };
  threads_left = 0;
  EXPECT_THROW(open(), std::system_error);
  EXPECT_LT(threads_left, 0);
  threads_left = 1;  // for the watchdog, but not for the source
  EXPECT_THROW(open(), std::system_error);
  EXPECT_LT(threads_left, 0);
  open();
  EXPECT_TRUE(pipeline.next("s"));
}

// Some of these failures come after the frame was accepted and before a worker knows that.
TEST(PipelineWithoutMemory, EndsAStreamWhoseSourceThreadGetsNone) {
  set_log_hook([](LogLevel, std::string_view) {});
  Pipeline pipeline({make_detector("people", "person")}, {.workers = 1});
  for (long nth = 0; nth < 3; ++nth)
    for (std::int64_t at = 0; at < 64; ++at) {
      const auto arm = [=](Frame& frame) {
        if (frame.index == at) allocations_left = nth;
      };
      pipeline.open_stream({.id = "s",
                            .source = std::make_unique<MemorySource>(
                                MemorySource::Plan{.frames = -1, .before = arm}),
                            .frames_in_flight = 1});
      EXPECT_TRUE(pipeline.wait("s").failure);
    }
  set_log_hook({});
}

TEST(PipelineWithoutMemory, GivesEachFrameOfABatchItsResultOnce) {
  for (long nth = 0; nth < 2; ++nth) {
    Latch all_read;
    const Pipeline* running = nullptr;
    const auto found = [] {
      DetectionNodes nodes = DetectionNodes::all();
      nodes.add(node_at("x", 0, 0));
      return nodes;
    };
    CapsuleInfo info = detector_info("d", "x");
    info.batch = BatchSizes{.maximum = 4};
    auto capsule = make_batch_capsule(
        info,
        [&](std::span<const Frame> frames, std::span<DetectionNodes>) {
          std::vector<DetectionNodes> results;
          for (std::size_t i = 0; i < frames.size(); ++i) results.push_back(found());
          allocations_left = nth;
          return std::optional(std::move(results));
        },
        [&](const Frame& frame, auto, const auto&, auto&) {
          if (frame.index == 0) {  // the others gather meanwhile
            all_read.wait();
            while (running->stats().streams.front().waiting > 0) std::this_thread::yield();
          }
          return found();
        });
    Pipeline pipeline({std::move(capsule)}, {.workers = 2});
    running = &pipeline;
    auto source = std::make_unique<MemorySource>(
        MemorySource::Plan{.frames = 5, .after_last = [&] { all_read.open(); }});
    for (const FrameRecord& record :
         run(pipeline, {.source = std::move(source), .frames_in_flight = 6}))
      EXPECT_EQ(record.objects.size() + record.errors.size(), 1u) << record.frame.index;
  }
}

// Other threads must not find a stream that never starts, and wait for its end.
TEST(PipelineWithoutThreads, ShowsNoStreamThatDoesNotStart) {
  Pipeline pipeline({make_detector("people", "person")});
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> ended = false;
    std::thread other([&] {
      while (!ended) {
        try {
          pipeline.close_stream("s");
        } catch (const SourceError&) {  // it is not open
        }
      }
    });
    threads_left = 0;
    EXPECT_THROW(pipeline.open_stream({.id = "s", .source = make_source(1)}), std::system_error);
    ended = true;
    other.join();
  }
}

}  // namespace
}  // namespace vcap::test
