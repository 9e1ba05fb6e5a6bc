// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/command_model.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "files/output_file.hpp"
#include "vcap/base/version.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

/// Text as it must stand in a man page, man(7): no control lines, and hyphens that can be copied.
std::string escaped(std::string_view text) {
  std::string result;
  bool at_begin = true;
  for (const char c : text) {
    if (at_begin && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    at_begin = c == '\n';
  }
  return result;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

void write_title(std::ostream& out, const std::string& page, const std::string& help) {
  out << ".TH " << upper(page) << " 1 \"\" \"vcap " << version() << "\" \"vcap\"\n"
      << ".SH NAME\n"
      << escaped(page) << " \\- " << escaped(help) << '\n';
}

/// One paragraph for each line, below a heading.
void write_text(std::ostream& out, const std::string& text) {
  std::istringstream lines(text);
  const char* between = "";
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line.starts_with(' '))  // a table
      out << ".br\n" << escaped(line.substr(line.find_first_not_of(' '))) << '\n';
    else
      out << between << escaped(line) << '\n';
    between = ".PP\n";
  }
}

void write_option(std::ostream& out, const OptionModel& option) {
  out << ".TP\n";
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
  out << names;
  if (!option.value.empty()) out << ' ' << italic(option.value);
  out << '\n' << escaped(option.help) << (option.help.ends_with('.') ? "" : ".");
  if (option.repeats && option.help.find("repeated") == std::string::npos)
    out << " May be repeated.";
  out << '\n';
}

void write_options(std::ostream& out, const std::vector<OptionModel>& options) {
  std::string group;
  for (const OptionModel& option : options) {
    if (option.group != group) {
      group = option.group;
      out << ".SS " << escaped(group) << '\n';
    }
    write_option(out, option);
  }
}

/// "vcap-cluster-up" of "cluster up".
std::string page_of(std::string command) {
  std::ranges::replace(command, ' ', '-');
  return "vcap-" + command;
}

/// The pages of the commands in a group, or of those in none if `group` is empty.
void write_commands(std::ostream& out, const std::vector<CommandModel>& commands,
                    const std::string& group) {
  out << ".SH COMMANDS\n";
  for (const CommandModel& command : commands) {
    const std::size_t space = command.name.rfind(' ');
    if (command.name.substr(0, space == std::string::npos ? 0 : space) != group) continue;
    out << ".TP\n" << bold(page_of(command.name)) << "(1)\n" << escaped(command.help) << ".\n";
  }
}

std::string command_page(const CommandModel& command, const std::vector<CommandModel>& commands) {
  std::ostringstream out;
  write_title(out, page_of(command.name), command.help);
  out << ".SH SYNOPSIS\n" << bold("vcap " + command.name);
  if (!command.commands.empty()) out << ' ' << italic("COMMAND");
  out << " [" << italic("OPTIONS") << ']';
  for (const OptionModel& positional : command.positionals)
    out << ' ' << italic(positional.names.front()) << (positional.repeats ? "..." : "");
  out << '\n';
  if (!command.positionals.empty()) {
    out << ".SH ARGUMENTS\n";
    for (const OptionModel& positional : command.positionals) write_option(out, positional);
  }
  if (!command.commands.empty()) write_commands(out, commands, command.name);
  out << ".SH OPTIONS\n";
  write_options(out, command.options);
  if (!command.footer.empty()) {
    out << ".SH NOTES\n";
    write_text(out, command.footer);
  }
  out << ".SH SEE ALSO\n" << bold("vcap") << "(1)\n";
  return out.str();
}

std::string main_page(const CLI::App& app, const std::vector<CommandModel>& commands) {
  std::ostringstream out;
  write_title(out, "vcap", app.get_description());
  out << ".SH SYNOPSIS\n"
      << bold("vcap") << ' ' << italic("COMMAND") << " [" << italic("OPTIONS") << "]\n";
  write_commands(out, commands, {});
  out << ".SH OPTIONS\n";
  for (const OptionModel& option : options_of(app)) write_option(out, option);
  out << ".SH EXIT STATUS\n";
  write_text(out, app.get_footer());
  return out.str();
}

void write_page(const fs::path& file, const std::string& text) {
  OutputFile output(file);
  output.write(text);
  output.commit();
}

int write_pages(const CLI::App& app, const fs::path& folder) {
  const std::vector<CommandModel> commands = commands_of(app);
  std::error_code error;
  fs::create_directories(folder, error);  // OutputFile reports what is wrong
  write_page(folder / "vcap.1", main_page(app, commands));
  for (const CommandModel& command : commands)
    write_page(folder / (page_of(command.name) + ".1"), command_page(command, commands));
  return kDone;
}

int print_page(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<CommandModel> commands = commands_of(app);
  std::string name;
  for (const std::string& word : words) name += (name.empty() ? "" : " ") + word;
  if (name.empty()) {
    std::cout << main_page(app, commands);
    return kDone;
  }
  const auto command = std::ranges::find(commands, name, &CommandModel::name);
  if (command == commands.end()) {
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const CommandModel& known : commands) names.push_back(known.name);
    throw UsageError("there is no command " + quote(name) + suggestion(name, names) +
                     (suggestion(name, names).empty() ? "; see vcap --help" : ""));
  }
  std::cout << command_page(*command, commands);
  return kDone;
}

struct ManArguments {
  std::vector<std::string> command{};
  std::string out{};
};

}  // namespace

void add_man(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ManArguments>();
  CLI::App* command = app.add_subcommand(
      "man", "Prints the man page of a command, or of vcap itself: vcap man run | man -l -");
  CLI::Option* name = command->add_option("COMMAND", arguments->command,
                                          "The command, of two words if it is in a group");
  command->add_option("--out", arguments->out, "Writes the pages of all commands into this folder")
      ->type_name("FOLDER")
      ->excludes(name);
  command->callback([&app, &chosen, arguments] {
    chosen = [&app, arguments] {
      return arguments->out.empty() ? print_page(app, arguments->command)
                                    : write_pages(app, arguments->out);
    };
  });
}

}  // namespace vcap::cli
