// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "vcap/loading/load_capsule.hpp"

namespace vcap::cli {

/// What a command line says of a job: a file that describes it, or the parts of one.
struct BulkArguments {
  std::string job{};
  std::string out{};  ///< the folder of outputs, of a job without a file

  bool given() const noexcept { return !job.empty() || !out.empty(); }
  /// Declares --job and --out.
  void add_to(CLI::App& command);
  /// That nothing is given beside them that is of no effect on a job. Throws CLI::ParseError.
  void check(const CLI::App& command) const;
};

/// What `--out` makes a job of, as it stands on the command line.
struct BulkSources {
  std::vector<std::string> capsules{};
  std::vector<std::string> sources{};
  std::vector<std::string> options{};
  std::vector<std::string> configs{};
};

/// Runs the job, and comes back with the exit code.
int run_bulk(const BulkArguments& arguments, const BulkSources& sources, const LoadOptions& access);

}  // namespace vcap::cli
