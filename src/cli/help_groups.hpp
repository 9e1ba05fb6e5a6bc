// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/App.hpp>

namespace vcap::cli {

/// Puts the options that were declared since the last call under this heading of --help.
void group_new_options(CLI::App& command, const std::string& heading);

/// The same for commands.
void group_new_commands(CLI::App& app, const std::string& heading);

}  // namespace vcap::cli
