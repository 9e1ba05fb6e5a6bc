// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/connection_limits.hpp"

#include <cstdint>
#include <string>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

void check_limit(const char* name, std::int64_t value, std::int64_t least, std::int64_t most,
                 const char* unit = "") {
  if (value >= least && value <= most) return;
  throw InvalidArgument(ErrorCode::invalid_argument, std::string("connection limits: ") + name +
                                                         " of " + std::to_string(value) + unit +
                                                         " is not within " + std::to_string(least) +
                                                         " to " + std::to_string(most) + unit);
}

}  // namespace

void ConnectionLimits::check() const {
  constexpr std::int64_t kMostConnections = 10'000;
  constexpr std::int64_t kDay = std::chrono::milliseconds(std::chrono::hours(24)).count();
  const auto most = static_cast<std::size_t>(INT64_MAX);
  const auto number = [&](std::size_t value) {
    return static_cast<std::int64_t>(value < most ? value : most);
  };
  check_limit("connections", number(connections), 1, kMostConnections);
  check_limit("per_address", number(per_address), 1, INT64_MAX);
  check_limit("request_deadline", request_deadline.count(), 1, kDay, " ms");
  check_limit("answer_deadline", answer_deadline.count(), 1, kDay, " ms");
  check_limit("request_bytes", number(request_bytes), 1024, 1 << 20, " bytes");
}

}  // namespace vcap
