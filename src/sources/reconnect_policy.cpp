// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/reconnect_policy.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

void require(bool holds, const std::string& value, const char* allowed) {
  if (!holds)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "reconnect policy: " + value + " is not " + allowed);
}

}  // namespace

std::chrono::nanoseconds ReconnectPolicy::delay(int attempt, double chance) const {
  const std::chrono::duration<double, std::nano> first = first_delay;
  const std::chrono::duration<double, std::nano> most = max_delay;
  // With many attempts the power is infinite; times a first delay of 0 it would be NaN.
  const auto grown = std::min(first * std::min(std::pow(factor, attempt - 1), 1e12), most);
  return std::chrono::nanoseconds(std::llround((grown * (1 - jitter * chance)).count()));
}

void ReconnectPolicy::check() const {
  const auto milliseconds = [](std::chrono::milliseconds value) {
    return std::to_string(value.count()) + " ms";
  };
  require(first_delay.count() >= 0, "first_delay " + milliseconds(first_delay), "0 or more");
  require(max_delay >= first_delay, "max_delay " + milliseconds(max_delay), "first_delay or more");
  require(factor >= 1 && factor <= 100, "factor " + number_text(factor), "within 1 to 100");
  require(jitter >= 0 && jitter <= 1, "jitter " + number_text(jitter), "within 0 to 1");
  require(max_attempts >= 0, "max_attempts " + std::to_string(max_attempts), "0 or more");
}

}  // namespace vcap
