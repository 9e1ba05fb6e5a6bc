// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "vcap/loading/load_capsule.hpp"

namespace vcap::cli {

/// The command line's arguments about a job: a file that describes it, or the parts of one.
struct BulkArguments {
  std::string job{};
  std::string out{};  ///< the folder of outputs, for a job without a file

  bool given() const noexcept { return !job.empty() || !out.empty(); }
  /// Declares --job and --out.
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
};

/// Runs the job and returns the exit code.
int run_bulk(const BulkArguments& arguments, const BulkSources& sources, const LoadOptions& access);

}  // namespace vcap::cli
