// SPDX-License-Identifier: Apache-2.0
#include "cli/help_groups.hpp"

#include <CLI/CLI.hpp>

namespace vcap::cli {

void group_new_options(CLI::App& command, const std::string& heading) {
  const std::string none = CLI::OptionDefaults().get_group();
  for (CLI::Option* const option : command.get_options())
    if (option->get_group() == none && option != command.get_help_ptr()) option->group(heading);
}

void group_new_commands(CLI::App& app, const std::string& heading) {
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_group() == "Subcommands") command->group(heading);  // CLI11's default
}

}  // namespace vcap::cli
