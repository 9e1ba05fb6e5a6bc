// SPDX-License-Identifier: Apache-2.0
#include "vcap/batching/batch_policy.hpp"

#include <sstream>
#include <string>
#include <string_view>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

// A delay above one hour is probably a wrong unit; the bound also keeps arrival + delay from
// overflowing.
constexpr std::chrono::nanoseconds kLongestDelay = std::chrono::hours(1);
constexpr std::size_t kMostThreads = 1024;

template <class Value>
void require(bool right, std::string_view field, const Value& value, std::string_view allowed) {
  if (right) return;
  std::ostringstream message;
  message << "BatchPolicy::" << field << ": " << value << " is not " << allowed;
  throw InvalidArgument(ErrorCode::invalid_argument, message.str());
}

std::string text(std::chrono::nanoseconds time) { return std::to_string(time.count()) + " ns"; }

}  // namespace

void validate(const BatchPolicy& policy) {
  require(policy.max_batch_size >= 1, "max_batch_size", policy.max_batch_size, "at least 1");
  const std::string sizes =
      "within 1 to max_batch_size (" + std::to_string(policy.max_batch_size) + ")";
  for (const std::size_t size : policy.preferred_sizes)
    require(size >= 1 && size <= policy.max_batch_size, "preferred_sizes", size, sizes);
  require(policy.max_queue_delay >= std::chrono::nanoseconds(0) &&
              policy.max_queue_delay <= kLongestDelay,
          "max_queue_delay", text(policy.max_queue_delay), "within 0 to 1 hour");
  require(policy.linger_share > 0 && policy.linger_share <= 1, "linger_share", policy.linger_share,
          "above 0 and at most 1; set adaptive_linger to false for no linger");
  require(policy.overflow == QueueOverflowPolicy::wait ||
              policy.overflow == QueueOverflowPolicy::reject ||
              policy.overflow == QueueOverflowPolicy::drop_oldest,
          "overflow", static_cast<int>(policy.overflow), "wait, reject or drop_oldest");
  require(policy.priority_aging > std::chrono::nanoseconds(0), "priority_aging",
          text(policy.priority_aging), "above 0");
  require(policy.workers >= 1 && policy.workers <= kMostThreads, "workers", policy.workers,
          "within 1 to " + std::to_string(kMostThreads));
  require(policy.concurrency == 0 ||
              (policy.concurrency >= policy.workers && policy.concurrency <= kMostThreads),
          "concurrency", policy.concurrency,
          "within workers (" + std::to_string(policy.workers) + ") to " +
              std::to_string(kMostThreads) + ", or 0 for as many as the machine has cores");
}

}  // namespace vcap
