// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

// The limits of TaskQueue. All throw InvalidArgument and are thread-safe.

VCAP_EXPORT void check_task_id(const std::string& id);
VCAP_EXPORT void check_task_payload(const std::string& id, const nlohmann::json& payload);
VCAP_EXPORT void check_task_result(const std::string& id, const nlohmann::json& result);
VCAP_EXPORT void check_lease_time(Clock::duration time);
VCAP_EXPORT void check_max_attempts(int attempts);
/// For an answer to a lease.
[[noreturn]] VCAP_EXPORT void refuse_unknown_task(const std::string& id);
/// When a lease of this duration ends; never after time_point::max().
VCAP_EXPORT Clock::time_point end_of_lease(Clock::time_point now, Clock::duration time);
/// Why an attempt has failed whose lease has run out.
inline constexpr const char* kLeaseRanOut =
    "the lease ran out: the worker died, or did not renew it in time";

}  // namespace vcap
