// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

#include "cli/run_outputs.hpp"

namespace vcap::cli {

/// Adds the options that say what the clips of --video show, and how they are compressed. The
/// command must have --video, and `outputs` must live as long as it.
void add_video_options(CLI::App& command, OutputPaths& outputs);

}  // namespace vcap::cli
