// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace vcap {

/// The parts of some work, one after the other, and how long each took. An event with them is a
/// span of a trace (cluster_trace()). Thread safety: thread-compatible.
class TimedParts {
 public:
  using Clock = std::chrono::steady_clock;

  /// A part ends here. It began where the part before ended, or with the object.
  void end(const char* name) {
    const Clock::time_point now = Clock::now();
    parts_.emplace_back(name, std::chrono::duration<double>(now - begin_).count());
    begin_ = now;
  }

  /// Arrays of a name and its seconds, in order.
  nlohmann::json json() const { return parts_; }

 private:
  Clock::time_point begin_ = Clock::now();
  std::vector<std::pair<std::string, double>> parts_;
};

}  // namespace vcap
