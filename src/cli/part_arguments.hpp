// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <CLI/App.hpp>

#include "vcap/pipeline/pipeline.hpp"

namespace vcap::cli {

/// Which records of a stored source are wanted, and in how many slices it is run.
struct PartArguments {
  std::optional<Sampler> select{};
  std::size_t slices = 1;

  /// This object must live as long as the command.
  void add_to(CLI::App& command);
  void apply_to(StreamConfig& config) const;
};

/// "0-100,500-600": ranges of frames, without the last frame of each. Throws UsageError that names
/// the value.
Sampler parse_ranges(const std::string& text);
/// "0,10,25". Throws UsageError that names the value.
Sampler parse_frames(const std::string& text);
/// "auto", "off" or a number. Throws UsageError.
std::size_t parse_slices(const std::string& text);

}  // namespace vcap::cli
