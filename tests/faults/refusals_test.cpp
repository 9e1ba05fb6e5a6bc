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

#include "support/pipeline_helpers.hpp"
#include "vcap/base/log.hpp"
#include "vcap/batching/batch_executor.hpp"

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

}  // namespace
}  // namespace vcap::test
