// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/cluster/cluster.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// How a capsule is rolled out. Thread safety: value.
struct RolloutSettings {
  LoadOptions load{};               ///< how the capsule's manifest is read
  std::int64_t trial_frames = 100;  ///< that each stream must give without an error of the capsule
  /// How long a stream may take for that.
  std::chrono::nanoseconds patience = std::chrono::seconds(120);
  /// Called when the trial of a stream has passed. [caller]
  std::function<void(const std::string& stream)> on_stream{};
};

/// How a rollout went. Thread safety: value.
struct RolloutReport {
  std::vector<std::string> changed{};  ///< streams that have the new capsule now
  std::string failed{};                ///< the stream whose trial failed; empty: none
  std::string reason{};                ///< why it failed, or what could not be taken back
  std::vector<std::string> left{};     ///< streams that still have another capsule of its name
};

/// Replaces a capsule in all streams of the site that have one of its name, one stream after the
/// other. Options and configs stay. Each stream goes on as after a change of its worker, and is on
/// trial: if the capsule cannot be loaded, fails on a frame, or the trial takes too long, or `stop`
/// is requested, all streams that were changed get the capsule that they had. If this process dies
/// meanwhile, streams keep what they have then; call it again.
///
/// Throws InvalidArgument if the capsule does not accept what a stream sets for it, or no stream
/// has a capsule of its name; what load_capsule() throws; ClusterError. Thread-safe.
VCAP_EXPORT RolloutReport roll_out_capsule(const std::shared_ptr<Cluster>& cluster,
                                           const std::string& path,
                                           const RolloutSettings& settings = {},
                                           const std::stop_token& stop = {});

}  // namespace vcap
