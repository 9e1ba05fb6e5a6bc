// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/thread_annotations.hpp"
#include "cluster/jet_stream.hpp"
#include "vcap/base/clock.hpp"

namespace vcap {

/// The broker's time, as a clock: its times are since 1970. So the clocks of the machines need not
/// agree, and a step of one of them changes nothing: between two answers of the broker, it goes on
/// with the machine's steady clock. It is behind the broker by at most a round trip. Thread safety:
/// thread-safe.
class ClusterClock final : public Clock {
 public:
  /// Asks the broker. `stream`: any stream of the site. Throws ClusterError.
  ClusterClock(JetStream& jet_stream, const std::string& stream);

  time_point now() const noexcept override;
  void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                  time_point time) override;

 private:
  const duration offset_;  ///< to the machine's steady clock
};

}  // namespace vcap
