// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "vcap/pipeline/pipeline.hpp"

namespace vcap::cli {

/// How `vcap run` treats frames that come too fast, and capsules that fail, hang or give what they
/// do not declare; the same for all streams.
struct PolicyArguments {
  std::size_t frames_in_flight = 0;
  OverflowPolicy overflow = OverflowPolicy::automatic;
  std::int64_t keep_every = 1;
  QuarantinePolicy quarantine{};
  QuarantinePolicy quarantine_of_all{};
  /// For one capsule and one frame; 0: none.
  std::chrono::nanoseconds deadline = std::chrono::seconds(30);
  OutputPolicy outputs{};
  double grace = 10;  ///< seconds

  /// This object must live as long as the command.
  void add_to(CLI::App& command);
  void apply_to(StreamConfig& config) const;
  /// For a backend's first call, which may compile a network.
  std::chrono::nanoseconds first_call_deadline() const noexcept { return 10 * deadline; }
  std::chrono::nanoseconds grace_time() const;
};

/// "SECONDS" or "none", which gives 0. Throws UsageError that names `option`.
std::chrono::nanoseconds parse_deadline(const std::string& text, const std::string& option);

/// "N[:WITHIN[:PAUSE]]", the times in seconds. Throws UsageError that names `option`.
QuarantinePolicy parse_quarantine(const std::string& text, const std::string& option);

}  // namespace vcap::cli
