// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/manual_clock.hpp"
#include "support/sanitizers.hpp"
#include "vcap/jobs/task_queue.hpp"

namespace vcap::test {

using MakeQueue = std::function<std::unique_ptr<TaskQueue>(TaskQueue::Settings)>;

constexpr unsigned kQueueRounds = kUnderSanitizer ? 1000 : 5000;

/// One random round: threads put tasks, complete them, fail, die and answer late while time goes
/// on. Each task must be settled once, with the result that complete() accepted.
class QueueRound {
 public:
  QueueRound(const MakeQueue& make, unsigned seed)
      : dice_(seed),
        max_attempts_(one_to(3)),
        tasks_(one_to(8)),
        queue_(make({.max_attempts = max_attempts_, .clock = clock_})) {}

  void run() {
    std::stop_source stop;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 2; ++i) threads.emplace_back([this, i] { put_all(i); });
      for (auto& thread : threads) thread.join();
      std::jthread time([this](std::stop_token end) {
        while (!end.stop_requested()) {
          clock_->advance(std::chrono::milliseconds(one_to(5)));
          std::this_thread::yield();
        }
      });
      const int workers = one_to(4);
      for (int i = 0; i < workers; ++i) threads.emplace_back([&] { work(stop.get_token()); });
      EXPECT_TRUE(queue_->wait_until_settled({}));
      stop.request_stop();
    }
    answer_late(late_.size());
    check();
  }

 private:
  static std::string id_of(int task) { return "task " + std::to_string(task); }

  int one_to(int most) {
    const std::lock_guard lock(mutex_);
    return std::uniform_int_distribution<int>(1, most)(dice_);
  }

  /// Runs in two threads at once. For each task, put() returns true in only one of them.
  void put_all(int putter) {
    for (int task = 0; task < tasks_; ++task)
      if (queue_->put(id_of(task), putter)) ++put_;
  }

  void work(const std::stop_token& stop) {
    while (const auto lease = queue_->lease(std::chrono::milliseconds(one_to(20)), stop)) {
      {
        const std::lock_guard lock(mutex_);
        EXPECT_TRUE(numbers_.insert(lease->number).second);
      }
      EXPECT_LE(lease->attempt, max_attempts_);
      if (one_to(3) == 1) queue_->renew(*lease, std::chrono::milliseconds(one_to(20)));
      answer(*lease);
      if (one_to(3) == 1) answer_late(1);
    }
  }

  void answer(const TaskQueue::Lease& lease) {
    switch (one_to(6)) {
      case 1:
        if (queue_->fail(lease, "failed")) ++failed_;
        return;
      case 2:
        queue_->release(lease);
        return;
      case 3:
        return;  // the worker has died
      case 4: {
        const std::lock_guard lock(mutex_);
        late_.push_back(lease);
        return;
      }
      default:
        complete(lease);
    }
  }

  void answer_late(std::size_t most) {
    for (; most > 0; --most) {
      TaskQueue::Lease lease;
      {
        const std::lock_guard lock(mutex_);
        if (late_.empty()) return;
        lease = std::move(late_.back());
        late_.pop_back();
      }
      complete(lease);
    }
  }

  void complete(const TaskQueue::Lease& lease) {
    if (!queue_->complete(lease, lease.number)) return;
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(results_.emplace(lease.task, lease.number).second)
        << "a second result was accepted";
  }

  void check() {
    EXPECT_EQ(put_, tasks_);
    const auto counts = queue_->counts();
    EXPECT_EQ(counts.waiting + counts.leased, 0u);
    EXPECT_EQ(counts.done, results_.size());
    EXPECT_EQ(counts.done + counts.given_up, static_cast<std::size_t>(tasks_));
    for (int task = 0; task < tasks_; ++task) {
      const auto taken = results_.find(id_of(task));
      const auto result = queue_->result(id_of(task));
      ASSERT_EQ(result.has_value(), taken != results_.end()) << task;
      if (result) {
        EXPECT_EQ(*result, taken->second) << task;
      }
    }
    std::size_t given_up = 0;
    int told = 0;
    for (const auto& failure : queue_->failures()) {
      given_up += failure.given_up;
      EXPECT_EQ(failure.reasons.size() == static_cast<std::size_t>(max_attempts_),
                failure.given_up);
      EXPECT_NE(results_.contains(failure.task), failure.given_up);
      for (const auto& reason : failure.reasons) told += reason == "failed";
    }
    EXPECT_EQ(given_up, counts.given_up);
    EXPECT_EQ(told, failed_);
  }

  std::mutex mutex_;  // guards the random numbers and what threads note below
  std::mt19937 dice_;
  const int max_attempts_;
  const int tasks_;
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::unique_ptr<TaskQueue> queue_;
  std::atomic<int> put_{0};
  std::atomic<int> failed_{0};
  std::vector<TaskQueue::Lease> late_;
  std::set<std::uint64_t> numbers_;
  std::map<std::string, std::uint64_t> results_;  ///< those that complete() accepted
};

}  // namespace vcap::test
