// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// Work that is handed out to workers, and settled exactly once, whatever becomes of them.
///
/// A task is put under an id, leased to a worker for a time, and settled: done, with a result, or
/// given up. A worker that fails says so; of one that dies, the lease runs out. Either is an
/// attempt that failed: the task goes to the end of the queue, or, after Settings::max_attempts of
/// them, is given up. So a task may be worked on by several at once, and the first to complete it
/// counts; what workers write elsewhere goes under the task's id, so that it is there once too.
///
/// Made by make_in_process_queue(), or by another implementation, such as one between machines.
/// Each holds to what tests/jobs/task_queue_conformance.hpp tests, and therefore to this:
/// - Time is the queue's, by one clock: a worker's own does not count, and a worker whose lease ran
///   out learns it from an answer. Nobody polls: who waits is woken, also by the end of a lease.
/// - Ids are 1 to 256 bytes, compared byte by byte, and name the same work for good, so that a task
///   may be put again after a crash of whoever puts.
/// - Payloads and results are JSON of at most 64 KiB as text; larger things are stored elsewhere,
///   and named. Both are kept as long as the queue.
/// - An answer holds once it is given: a result that was taken is not lost, and a task that was
///   settled stays so. Where the queue cannot be reached, calls throw vcap::Error and may have had
///   their effect; every call may be made again.
///
/// Outlives every call. Thread safety: thread-safe.
class VCAP_EXPORT TaskQueue {
 public:
  struct Settings {
    int max_attempts = 3;            ///< how often a task may fail, at least 1
    std::shared_ptr<Clock> clock{};  ///< null: the machine's steady clock
  };

  /// One worker's hold on a task, until it runs out. Thread safety: value.
  struct Lease {
    std::string task{};  ///< the id
    nlohmann::json payload{};
    std::uint64_t number = 0;  ///< that no other lease of the queue has
    int attempt = 1;           ///< failed ones before it, and this one
  };

  /// How many tasks there are in each state. Thread safety: value.
  struct Counts {
    std::size_t waiting = 0;
    std::size_t leased = 0;
    std::size_t done = 0;
    std::size_t given_up = 0;
    bool operator==(const Counts&) const = default;
  };

  /// A task that failed. Thread safety: value.
  struct Failure {
    std::string task{};
    std::vector<std::string> reasons{};  ///< one for each attempt that failed, the first first
    bool given_up = false;               ///< or else tried again, or done since
    bool operator==(const Failure&) const = default;
  };

  TaskQueue() = default;
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;
  virtual ~TaskQueue();

  /// Puts a task at the end. False where the id is known, whatever became of it; then nothing has
  /// changed. Throws InvalidArgument for an id or a payload that is not allowed.
  virtual bool put(std::string id, nlohmann::json payload) = 0;

  /// The first of those that wait, for so long from now. Waits until there is one; nothing where
  /// `stop` is requested before. Throws InvalidArgument where the time is not above 0.
  virtual std::optional<Lease> lease(Clock::duration time, std::stop_token stop) = 0;
  /// The same without waiting.
  virtual std::optional<Lease> try_lease(Clock::duration time) = 0;

  // Answers to a lease. All but complete() are false, and change nothing, where it is not valid any
  // more: it ran out, was answered, or the task was settled by another. All throw InvalidArgument
  // where no task has that id.

  /// Lets the lease run for so long from now, more or less than before. Throws InvalidArgument
  /// where the time is not above 0.
  virtual bool renew(const Lease& lease, Clock::duration time) = 0;
  /// Settles the task as done, also where the lease ran out and whoever else has it now. False
  /// where the task is settled already; then nothing has changed. Throws InvalidArgument for a
  /// result that is not allowed.
  virtual bool complete(const Lease& lease, nlohmann::json result) = 0;
  /// The attempt failed.
  virtual bool fail(const Lease& lease, std::string reason) = 0;
  /// The task was not attempted, and has its old place in the queue again.
  virtual bool release(const Lease& lease) = 0;

  virtual Counts counts() const = 0;
  /// Returns once every task is done or given up, also where none was put; false where `stop` is
  /// requested before.
  virtual bool wait_until_settled(std::stop_token stop) const = 0;
  /// Nothing where the task is unknown or not done.
  virtual std::optional<nlohmann::json> result(const std::string& id) const = 0;
  /// Of every task that failed at least once, in the order of ids.
  virtual std::vector<Failure> failures() const = 0;
};

/// A queue in this process's memory. Throws InvalidArgument where max_attempts is not 1 or more.
VCAP_EXPORT std::unique_ptr<TaskQueue> make_in_process_queue(TaskQueue::Settings settings);

}  // namespace vcap
