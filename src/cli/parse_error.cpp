// SPDX-License-Identifier: Apache-2.0
#include "cli/parse_error.hpp"

#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/command_model.hpp"

namespace vcap::cli {
namespace {

/// The last words of the commands in `app`.
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CommandModel& command : commands_of(app))
    if (command.name.find(' ') == std::string::npos) names.push_back(command.name);
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const OptionModel& option : options_of(command))
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::string with_help(const std::string& text, const std::string& command) {
  return text + (text.ends_with('?') ? " See " : "; see ") + command + " --help";
}

/// The unknown words of a command. For an unknown option, the parser's text has no suggestion.
std::string explain_unknown(const CLI::App& command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!word.starts_with("-")) continue;
    const std::string name = word.substr(0, word.find('='));
    return "there is no option " + quote(name) + suggestion(name, option_names(command));
  }
  return "the argument " + quote(words.front()) + " is not expected";
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string name = "vcap";
  // Words that a command doesn't know may also be left with the group or the application.
  std::vector<std::string> words = app.remaining();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
    if (const auto own = command->remaining(); !own.empty()) words = own;
  }
  if (words.empty()) return with_help(error.what(), name);
  const std::vector<std::string> commands = command_names(*command);
  const std::string& word = words.front();
  if (!commands.empty() && !word.starts_with("-"))
    return with_help("there is no command " + quote(word) + suggestion(word, commands), name);
  return with_help(explain_unknown(*command, words), name);
}

}  // namespace vcap::cli
