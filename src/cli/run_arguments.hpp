// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/access_options.hpp"
#include "cli/capsule_settings.hpp"
#include "cli/part_arguments.hpp"
#include "cli/policy_arguments.hpp"
#include "cli/resource_arguments.hpp"
#include "cli/run_bulk.hpp"
#include "cli/run_outputs.hpp"
#include "cli/source_arguments.hpp"
#include "cli/view_arguments.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/pipeline/connection_limits.hpp"

namespace vcap::cli {

/// Declares where records go: everything but the recording. `outputs` must live as long as the
/// command.
void add_output_options(CLI::App& command, OutputPaths& outputs);

/// What `vcap run` is given on the command line.
struct RunArguments {
  std::vector<std::string> positionals;  ///< capsules and sources
  std::vector<std::string> capsules;
  std::vector<std::string> sources;
  std::vector<std::string> options;
  std::vector<std::string> configs;
  std::vector<std::string> stencils;
  std::vector<std::string> max_calls;
  StreamArguments streams;
  AccessArguments access;
  OutputPaths outputs;
  ResourceArguments resources;
  SourceArguments range;
  PartArguments parts;
  std::string metrics;  ///< address of the metrics server; empty: no server
  ConnectionLimits metrics_limits;
  ViewArguments view;
  std::int64_t max_frames = 0;  ///< 0: all
  bool leave_out = false;
  PolicyArguments policies;
  BulkArguments bulk;

  /// Declares the arguments. This object must live as long as the command.
  void add_to(CLI::App& command);
  /// Sorts the positionals into capsules and sources, and checks which arguments are required, with
  /// or without a job. Throws CLI::ParseError.
  void finish(const CLI::App& command);
  LoadOptions load_options() const;
};

}  // namespace vcap::cli
