// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"

namespace vcap {

class Clock;

/// Hands out tasks to workers. Each task is settled exactly once, even if workers fail or die.
///
/// A task is put under an id, leased to a worker for a time, and settled: done, with a result, or
/// given up. If a worker fails, it calls fail(); if it dies, its lease runs out. Both count as a
/// failed attempt. The task then goes to the end of the queue; after Settings::max_attempts
/// failures it is given up. So several workers may work on the same task, and the first complete()
/// counts. What workers write elsewhere must be named by the task's id, so that it too exists once.
///
/// Made by make_in_process_queue(), or by another implementation, such as one between machines.
/// Each implementation must pass tests/jobs/task_queue_conformance.hpp, and so:
/// - Time is the time of the queue's one clock; workers' clocks do not count. A worker learns from
///   an answer that its lease has run out. Waiting needs no polling: a waiter is woken, also when a
///   lease runs out.
/// - Ids are 1 to 256 bytes, compared byte by byte. An id names the same work for good, so a task
///   may be put again after a crash of the process that puts tasks.
/// - Payloads and results are JSON of at most 64 KiB as text. Store larger things elsewhere, and
///   put their names here. The queue keeps payloads and results as long as it exists.
/// - An answer is durable: an accepted result is not lost, and a settled task stays settled. If the
///   queue cannot be reached, calls throw vcap::Error, and may or may not have taken effect. Every
///   call may be repeated.
///
/// Must outlive every call. Thread safety: thread-safe.
class VCAP_EXPORT TaskQueue {
 public:
  /// Fixed when the queue is made.
  struct Settings {
    int max_attempts = 3;            ///< failed attempts after which a task is given up; at least 1
    std::shared_ptr<Clock> clock{};  ///< null: the machine's steady clock
  };

  /// The right of one worker to work on a task until a time. Thread safety: value.
  struct Lease {
    std::string task{};  ///< the task's id
    JsonValue payload{};
    std::uint64_t number = 0;  ///< unique among the queue's leases
    int attempt = 1;           ///< 1 plus the attempts that failed before
  };

  /// Number of tasks in each state. Thread safety: value.
  struct Counts {
    std::size_t waiting = 0;
    std::size_t leased = 0;
    std::size_t done = 0;
    std::size_t given_up = 0;
    bool operator==(const Counts&) const = default;
  };

  /// A task that failed at least once. Thread safety: value.
  struct Failure {
    std::string task{};
    std::vector<std::string> reasons{};  ///< one for each failed attempt, oldest first
    bool given_up = false;               ///< false: it is tried again, or was done since
    bool operator==(const Failure&) const = default;
  };

  /// A task to put. Thread safety: value.
  struct NewTask {
    std::string id{};
    JsonValue payload{};
  };

  TaskQueue() = default;
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;
  virtual ~TaskQueue();

  /// Puts a task at the end of the queue. Returns false, and changes nothing, if the id is known
  /// already, in any state. Throws InvalidArgument for an invalid id or payload.
  virtual bool put(std::string id, nlohmann::json payload) = 0;

  /// The same for many, in their order; a queue between machines is faster with this. Returns how
  /// many were new. If it throws, some may have been put; put all of them again.
  virtual std::size_t put_all(std::vector<NewTask> tasks);

  /// Leases the first waiting task for `time` from now. Waits until there is one; `nullopt` if
  /// `stop` is requested before that. Throws InvalidArgument if `time` is not above 0.
  virtual std::optional<Lease> lease(std::chrono::nanoseconds time, std::stop_token stop) = 0;
  /// The same without waiting.
  virtual std::optional<Lease> try_lease(std::chrono::nanoseconds time) = 0;

  // Answers to a lease. All but complete() return false, and change nothing, if the lease is no
  // longer valid: it ran out, was answered, or the task was settled by another worker. All throw
  // InvalidArgument if no task has that id.

  /// Makes the lease end `time` from now, which may be earlier or later than before. Throws
  /// InvalidArgument if `time` is not above 0.
  virtual bool renew(const Lease& lease, std::chrono::nanoseconds time) = 0;
  /// Settles the task as done, even if the lease has run out and another worker has the task now.
  /// Returns false, and changes nothing, if the task is already settled. Throws InvalidArgument for
  /// an invalid result.
  virtual bool complete(const Lease& lease, nlohmann::json result) = 0;
  /// Reports that the attempt failed.
  virtual bool fail(const Lease& lease, std::string reason) = 0;
  /// Reports that the task was not attempted; it gets its old place in the queue back.
  virtual bool release(const Lease& lease) = 0;

  virtual Counts counts() const = 0;
  /// Waits until every task is done or given up; returns true at once if there are no tasks.
  /// Returns false if `stop` is requested before that.
  virtual bool wait_until_settled(std::stop_token stop) const = 0;
  /// `nullopt` if the task is unknown or not done.
  virtual std::optional<nlohmann::json> result(const std::string& id) const = 0;
  /// Every task that failed at least once, in the order of ids.
  virtual std::vector<Failure> failures() const = 0;
};

/// A queue in this process's memory. Throws InvalidArgument if max_attempts is below 1.
VCAP_EXPORT std::unique_ptr<TaskQueue> make_in_process_queue(TaskQueue::Settings settings);

}  // namespace vcap
