// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include "vcap/view/comparison.hpp"

namespace vcap::cli {

/// The arguments of `vcap report` about comparisons.
struct CompareArguments {
  std::vector<std::string> runs{};  ///< two, each a file or folder of records; empty: no comparison
  ComparisonOptions options{};
  bool exit_code = false;

  /// Declares them. This object must live as long as the command.
  void add_to(CLI::App& command);
  bool given() const noexcept { return !runs.empty(); }
};

/// Reads both runs. Throws UsageError if there are no records at all.
Comparison compare_runs(const CompareArguments& arguments);

/// "identical", or what differs, in one line.
std::string verdict_line(const Comparison& comparison);

}  // namespace vcap::cli
