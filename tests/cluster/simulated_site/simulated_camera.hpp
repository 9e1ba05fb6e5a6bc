// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "cluster/stream_body.hpp"

namespace vcap::simulated {

/// A camera without pictures. It gives the records that a camera would cause, and saves a state.
/// Not each record when its frame would come, but those of a message at a time: so a thread wakes
/// up once for each message.
class SimulatedCamera final : public StreamBody {
 public:
  struct Settings {
    double frames = 10;                     ///< analysed in a second
    int objects = 2;                        ///< in each frame
    std::size_t state_bytes = 2'000;        ///< of a checkpoint; 0: no state
    double load = 0.1;                      ///< that it claims to take, in cores
    std::chrono::nanoseconds batch_time{};  ///< of the worker
  };

  SimulatedCamera(const std::string& id, const Settings& settings);

  std::map<std::string, bool> states() const override;
  void run(const EpochBegin& begin, std::map<std::string, SavedState> saved, Host& host) override;
  void end() noexcept override;
  std::optional<std::map<std::string, SavedState>> save() const override;
  std::optional<double> load() const override { return settings_.load; }

 private:
  const Settings settings_;
  /// The line of a frame, without its index and its time.
  std::string before_index_;
  std::string before_time_;
  std::string after_time_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
};

}  // namespace vcap::simulated
