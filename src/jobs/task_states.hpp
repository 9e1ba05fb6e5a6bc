// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/clock.hpp"
#include "vcap/jobs/task_queue.hpp"

namespace vcap {

/// The tasks of a TaskQueue and their states. Passive: it has no clock and does not wait; the queue
/// passes the time. Its functions are those of the queue. Thread safety: thread-compatible.
class TaskStates {
 public:
  using Lease = TaskQueue::Lease;
  using time_point = Clock::time_point;

  explicit TaskStates(int max_attempts) : max_attempts_(max_attempts) {}

  bool put(std::string id, nlohmann::json payload);
  std::optional<Lease> lease(time_point until);
  bool renew(const Lease& lease, time_point until);
  bool complete(const Lease& lease, nlohmann::json result);
  bool fail(const Lease& lease, std::string reason);
  bool release(const Lease& lease);

  /// Ends the leases that have run out by `now`; each counts as a failed attempt.
  void end_leases(time_point now);
  /// When the first lease runs out; time_point::max() if there is none.
  time_point first_end() const;

  bool all_settled() const { return waiting_.empty() && leases_.empty(); }
  TaskQueue::Counts counts() const;
  std::optional<nlohmann::json> result(const std::string& id) const;
  std::vector<TaskQueue::Failure> failures() const;

 private:
  enum class State { waiting, leased, done, given_up };
  struct Task {
    nlohmann::json payload{};
    State state = State::waiting;
    std::uint64_t place = 0;  ///< tasks are leased in the order of places
    std::uint64_t lease = 0;  ///< the number of the last lease
    time_point until{};       ///< when that lease runs out
    std::vector<std::string> reasons{};
    nlohmann::json result{};
  };
  using Tasks = std::map<std::string, Task>;
  using Known = Tasks::value_type;
  using End = std::pair<time_point, std::uint64_t>;  ///< end of a lease, and its number

  Known& find(const std::string& id);
  Known* held(const Lease& lease);
  void take_out(const Task& task);
  void wait_at_its_place(Known& known);
  void wait_at_the_end(Known& known);
  void attempt_failed(Known& known, std::string reason);

  const int max_attempts_;
  Tasks tasks_;
  std::map<std::uint64_t, Known*> waiting_;  ///< by place
  std::map<End, Known*> leases_;
  std::size_t done_ = 0;
  std::uint64_t last_place_ = 0;
  std::uint64_t last_lease_ = 0;
};

}  // namespace vcap
