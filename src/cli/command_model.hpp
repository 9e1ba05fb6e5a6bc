// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace vcap::cli {

/// An option or a positional argument, as --help, shell completion and man pages show it.
/// Thread safety: value.
struct OptionModel {
  std::vector<std::string> names{};  ///< "-h", "--help"; a positional argument has one: "INPUT"
  std::string value{};               ///< what the value is called, as "PATH"; empty: a flag
  std::string help{};
  std::string group{};  ///< heading in --help
  bool repeats = false;
  std::vector<std::string> choices{};  ///< values that can be written as they stand
  bool takes_file = false;             ///< the value may be a file's name
};

/// One command, or a group of commands. Thread safety: value.
struct CommandModel {
  std::string name{};  ///< after vcap: "run", "cluster", "cluster up"
  std::string help{};
  std::string group{};
  std::string footer{};
  std::vector<OptionModel> options{};  ///< in the order of --help
  std::vector<OptionModel> positionals{};
  std::vector<std::string> commands{};  ///< the last words of those in a group: "up"; else empty
};

/// The commands that were declared, so that completion and man pages cannot differ from --help. A
/// group comes before its commands.
std::vector<CommandModel> commands_of(const CLI::App& app);
/// The options of the application itself, before a command.
std::vector<OptionModel> options_of(const CLI::App& app);

}  // namespace vcap::cli
