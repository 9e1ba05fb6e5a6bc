// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_clock.hpp"

namespace vcap {
namespace {

using Steady = std::chrono::steady_clock;

}  // namespace

ClusterClock::ClusterClock(JetStream& jet_stream, const std::string& stream)
    : offset_(std::chrono::duration_cast<duration>(jet_stream.time(stream)) -
              Steady::now().time_since_epoch()) {}

Clock::time_point ClusterClock::now() const noexcept { return Steady::now() + offset_; }

void ClusterClock::wait_until(std::condition_variable& condition,
                              std::unique_lock<std::mutex>& lock, time_point time) {
  condition.wait_until(lock, time - offset_);
}

}  // namespace vcap
