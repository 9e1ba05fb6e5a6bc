// SPDX-License-Identifier: Apache-2.0
#include "jobs/task_checks.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::size_t kIdBytes = 256;
constexpr std::size_t kJsonBytes = 64 << 10;

[[noreturn]] void refuse_argument(const std::string& words) {
  throw InvalidArgument(ErrorCode::invalid_argument, words);
}

void check_json(const std::string& what, const nlohmann::json& json) {
  std::size_t bytes = 0;
  try {
    bytes = json.dump().size();
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(ErrorCode::invalid_json,
                          what + " cannot be written as JSON: " + error.what());
  }
  if (bytes > kJsonBytes)
    refuse_argument(what + " is JSON of " + std::to_string(bytes) + " bytes; at most " +
                    std::to_string(kJsonBytes) +
                    " are allowed; store it elsewhere, and give only its name here");
}

}  // namespace

void check_task_id(const std::string& id) {
  if (id.empty() || id.size() > kIdBytes)
    refuse_argument("the task's id " + quote(id) + " has " + std::to_string(id.size()) +
                    " bytes; 1 to " + std::to_string(kIdBytes) + " are allowed");
}

void check_task_payload(const std::string& id, const nlohmann::json& payload) {
  check_json("the payload of task " + quote(id), payload);
}

void check_task_result(const std::string& id, const nlohmann::json& result) {
  check_json("the result of task " + quote(id), result);
}

void check_lease_time(Clock::duration time) {
  if (time <= Clock::duration::zero())
    refuse_argument("lease duration must be > 0, got " + std::to_string(time.count()) + " ns");
}

void check_max_attempts(int attempts) {
  if (attempts < 1) refuse_argument("max_attempts must be >= 1, got " + std::to_string(attempts));
}

void refuse_unknown_task(const std::string& id) {
  refuse_argument("no task has the id " + quote(id) + "; use a lease that this queue returned");
}

Clock::time_point end_of_lease(Clock::time_point now, Clock::duration time) {
  constexpr auto kNever = Clock::time_point::max();
  return time < kNever - now ? now + time : kNever;
}

}  // namespace vcap
