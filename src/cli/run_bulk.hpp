// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/cluster_arguments.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap::cli {

/// The command line's arguments about a job: a file that describes it, or the parts of one.
struct BulkArguments {
  std::string job{};
  bool is_positional = false;  ///< the job is given without --job
  std::string out{};           ///< the folder of outputs, for a job without a file
  ClusterArguments cluster{};
  std::string shared{};  ///< ClusterJobSettings::shared
  int priority = 0;      ///< ClusterJobSettings::priority

  bool given() const noexcept { return !job.empty() || !out.empty(); }
  /// Declares --job and --out, and on which cluster they run.
  void add_to(CLI::App& command);
  /// Checks that no other given option would have no effect on a job. Throws CLI::ParseError.
  void check(const CLI::App& command) const;
};

/// The arguments from which `--out` makes a job, as given on the command line.
struct BulkSources {
  std::vector<std::string> capsules{};
  std::vector<std::string> sources{};
  std::vector<std::string> options{};
  std::vector<std::string> configs{};
  std::vector<std::string> stencils{};
  InvalidOutput invalid_output = InvalidOutput::error;
  std::int64_t max_pixels = 0;
  std::int64_t max_frames = 0;  ///< 0: all
  std::string video{};          ///< ".mp4" for a clip of each video; empty: none
  std::string picture{};        ///< what the clips show; empty: the frames with the results
  std::string draw{};           ///< what is drawn on the frames; empty: the default
  std::string report{};         ///< a page for the whole job, also with a job file; empty: none
};

/// How long capsules may take in a job; 0: no limit (JobSettings).
struct BulkDeadlines {
  std::chrono::nanoseconds call{0};
  std::chrono::nanoseconds first_call{0};
};

/// Runs the job and returns the exit code. `grace`: how long it may take to end after a stop; then
/// the process is left, since what is stored stays. `lost_calls`: whether calls of capsules do not
/// return, so that the process must not end in the usual way.
int run_bulk(const BulkArguments& arguments, const BulkSources& sources, const LoadOptions& access,
             const BulkDeadlines& deadlines, std::chrono::nanoseconds grace, bool& lost_calls);

}  // namespace vcap::cli
