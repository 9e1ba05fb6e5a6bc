// SPDX-License-Identifier: Apache-2.0
#include "jobs/task_states.hpp"

#include <nlohmann/json.hpp>

#include "jobs/task_checks.hpp"

namespace vcap {

bool TaskStates::put(std::string id, nlohmann::json payload) {
  const auto [at, is_new] = tasks_.try_emplace(std::move(id));
  if (!is_new) return false;
  at->second.payload = std::move(payload);
  wait_at_the_end(*at);
  return true;
}

std::optional<TaskStates::Lease> TaskStates::lease(time_point until) {
  if (waiting_.empty()) return std::nullopt;
  Known& known = *waiting_.begin()->second;
  Task& task = known.second;
  take_out(task);
  task.state = State::leased;
  task.lease = ++last_lease_;
  task.until = until;
  leases_.emplace(End(until, task.lease), &known);
  return Lease{.task = known.first,
               .payload = task.payload,
               .number = task.lease,
               .attempt = static_cast<int>(task.reasons.size()) + 1};
}

bool TaskStates::renew(const Lease& lease, time_point until) {
  Known* const known = held(lease);
  if (known == nullptr) return false;
  take_out(known->second);
  known->second.until = until;
  leases_.emplace(End(until, lease.number), known);
  return true;
}

bool TaskStates::complete(const Lease& lease, nlohmann::json result) {
  Task& task = find(lease.task).second;
  if (task.state == State::done || task.state == State::given_up) return false;
  take_out(task);
  task.state = State::done;
  task.result = std::move(result);
  ++done_;
  return true;
}

bool TaskStates::fail(const Lease& lease, std::string reason) {
  Known* const known = held(lease);
  if (known == nullptr) return false;
  attempt_failed(*known, std::move(reason));
  return true;
}

bool TaskStates::release(const Lease& lease) {
  Known* const known = held(lease);
  if (known == nullptr) return false;
  take_out(known->second);
  wait_at_its_place(*known);
  return true;
}

void TaskStates::end_leases(time_point now) {
  while (!leases_.empty() && first_end() <= now)
    attempt_failed(*leases_.begin()->second, kLeaseRanOut);
}

TaskStates::time_point TaskStates::first_end() const {
  return leases_.empty() ? time_point::max() : leases_.begin()->first.first;
}

TaskQueue::Counts TaskStates::counts() const {
  return {.waiting = waiting_.size(),
          .leased = leases_.size(),
          .done = done_,
          .given_up = tasks_.size() - waiting_.size() - leases_.size() - done_};
}

std::optional<nlohmann::json> TaskStates::result(const std::string& id) const {
  const auto found = tasks_.find(id);
  if (found == tasks_.end() || found->second.state != State::done) return std::nullopt;
  return found->second.result;
}

std::vector<TaskQueue::Failure> TaskStates::failures() const {
  std::vector<TaskQueue::Failure> failures;
  for (const auto& [id, task] : tasks_)
    if (!task.reasons.empty())
      failures.push_back(
          {.task = id, .reasons = task.reasons, .given_up = task.state == State::given_up});
  return failures;
}

TaskStates::Known& TaskStates::find(const std::string& id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) refuse_unknown_task(id);
  return *found;
}

/// The task, if this lease holds it; null otherwise.
TaskStates::Known* TaskStates::held(const Lease& lease) {
  Known& known = find(lease.task);
  const Task& task = known.second;
  return task.state == State::leased && task.lease == lease.number ? &known : nullptr;
}

/// Takes the task out of the waiting tasks, or ends its lease.
void TaskStates::take_out(const Task& task) {
  if (task.state == State::waiting) waiting_.erase(task.place);
  if (task.state == State::leased) leases_.erase(End(task.until, task.lease));
}

void TaskStates::wait_at_its_place(Known& known) {
  known.second.state = State::waiting;
  waiting_.emplace(known.second.place, &known);
}

void TaskStates::wait_at_the_end(Known& known) {
  known.second.place = ++last_place_;
  wait_at_its_place(known);
}

void TaskStates::attempt_failed(Known& known, std::string reason) {
  Task& task = known.second;
  task.reasons.push_back(std::move(reason));
  take_out(task);
  if (task.reasons.size() < static_cast<std::size_t>(max_attempts_))
    wait_at_the_end(known);
  else
    task.state = State::given_up;
}

}  // namespace vcap
