// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "vcap/pipeline/pipeline.hpp"

namespace vcap::cli {

/// How `vcap run` treats frames that come too fast, capsules that fail and capsules that hang; the
/// same for all streams.
struct PolicyArguments {
  std::size_t frames_in_flight = 0;
  OverflowPolicy overflow = OverflowPolicy::automatic;
  std::int64_t keep_every = 1;
  QuarantinePolicy quarantine{};
  QuarantinePolicy quarantine_of_all{};
  double capsule_deadline = 0;  ///< seconds; 0: none

  /// This object must live as long as the command.
  void add_to(CLI::App& command);
  void apply_to(StreamConfig& config) const;
};

/// "N[:WITHIN[:PAUSE]]", the times in seconds. Throws UsageError that names `option`.
QuarantinePolicy parse_quarantine(const std::string& text, const std::string& option);

}  // namespace vcap::cli
