// SPDX-License-Identifier: Apache-2.0
#include "cli/command_model.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <CLI/CLI.hpp>

namespace vcap::cli {
namespace {

/// In "auto|N|off", the words in lower case are values; "N" describes one.
std::vector<std::string> choices_in(std::string_view value) {
  std::vector<std::string> choices;
  while (!value.empty()) {
    const std::string_view word = value.substr(0, value.find('|'));
    value.remove_prefix(std::min(word.size() + 1, value.size()));
    const bool is_plain = std::ranges::all_of(
        word, [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '-'; });
    if (is_plain && !word.empty()) choices.emplace_back(word);
  }
  return choices;
}

bool names_file(const std::string& value) {
  for (const char* const word : {"PATH", "FILE", "FOLDER", "SOURCE", ".cap"})
    if (value.find(word) != std::string::npos) return true;
  return false;
}

OptionModel model_of(const CLI::Option& option) {
  OptionModel model{.help = option.get_description(),
                    .group = option.get_group(),
                    .repeats = option.get_expected_max() > 1};
  for (const std::string& name : option.get_snames()) model.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) model.names.push_back("--" + name);
  if (model.names.empty()) model.names.push_back(option.get_single_name());
  if (option.get_items_expected_max() == 0) return model;  // a flag
  // Checks add what they allow after a colon.
  const std::string type = option.get_type_name();
  model.value = type.substr(0, type.find(':'));
  if (model.value.empty()) model.value = "VALUE";
  model.choices = choices_in(model.value);
  model.takes_file = names_file(model.value) || names_file(model.names.front());
  return model;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

void add_commands(const CLI::App& app, const std::string& before,
                  std::vector<CommandModel>& commands) {
  for (const CLI::App* const command : shown_commands(app)) {
    CommandModel model{.name = before + command->get_name(),
                       .help = command->get_description(),
                       .group = command->get_group(),
                       .footer = command->get_footer(),
                       .options = options_of(*command)};
    for (const CLI::Option* const option : command->get_options())
      if (!option->nonpositional()) model.positionals.push_back(model_of(*option));
    for (const CLI::App* const part : shown_commands(*command))
      model.commands.push_back(part->get_name());
    commands.push_back(std::move(model));
    add_commands(*command, before + command->get_name() + " ", commands);
  }
}

}  // namespace

std::vector<OptionModel> options_of(const CLI::App& app) {
  std::vector<OptionModel> options;
  for (const CLI::Option* const option : app.get_options())
    if (option->nonpositional() && !option->get_group().empty())
      options.push_back(model_of(*option));
  return options;
}

std::vector<CommandModel> commands_of(const CLI::App& app) {
  std::vector<CommandModel> commands;
  add_commands(app, {}, commands);
  return commands;
}

}  // namespace vcap::cli
