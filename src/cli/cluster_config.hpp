// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

#include "cli/commands.hpp"

namespace vcap::cli {

/// Declares `vcap cluster config`, which writes the configuration of a cluster's servers.
void add_cluster_config(CLI::App& cluster, Action& chosen);

}  // namespace vcap::cli
