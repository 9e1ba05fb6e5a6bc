// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command_model.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

std::string in_one_line(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// Within single quotes, in every shell but fish.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", R"('\'')") + "'"; }

std::string quoted_for_fish(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

/// The first sentence or part of one; menus of shells have one line.
std::string brief(const std::string& help) {
  const std::string text = help.substr(0, help.find_first_of(";\n"));
  return text.substr(0, std::min(text.size(), text.find(". ")));
}

std::vector<std::string> names_of(const std::vector<OptionModel>& options) {
  std::vector<std::string> names;
  for (const OptionModel& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// What a command offers for a word that is not an option.
struct Words {
  std::vector<std::string> choices{};
  bool files = false;
};

Words words_of(const CommandModel& command) {
  Words words;
  for (const OptionModel& positional : command.positionals) {
    words.choices.insert(words.choices.end(), positional.choices.begin(), positional.choices.end());
    words.files = words.files || positional.takes_file;
  }
  return words;
}

/// The branch that completes the value of an option.
void write_bash_value(std::ostream& out, const std::string& command, const OptionModel& option) {
  if (option.value.empty()) return;
  std::vector<std::string> places;
  for (const std::string& name : option.names) places.push_back(command + "/" + name);
  out << "    " << in_one_line(places, "|") << ")\n";
  if (option.takes_file) out << "      compopt -o default\n";
  if (!option.choices.empty())
    out << "      COMPREPLY=($(compgen -W " << quoted(in_one_line(option.choices))
        << " -- \"$word\"))\n";
  out << "      return ;;\n";
}

void write_bash(std::ostream& out, const std::vector<CommandModel>& commands,
                const std::vector<OptionModel>& own) {
  out << "# Completes the command vcap in bash.\n"
         "_vcap() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
         "  if [[ $word == = ]]; then word=; else\n"
         "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  fi\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    [[ ${COMP_WORDS[i]} != -* ]] && { command=${COMP_WORDS[i]}; break; }\n"
         "  done\n"
         "  case $command/$before in\n";
  for (const CommandModel& command : commands)
    for (const OptionModel& option : command.options) write_bash_value(out, command.name, option);
  out << "  esac\n"
         "  case $command in\n";
  std::vector<std::string> first = names_of(own);
  for (const CommandModel& command : commands) first.push_back(command.name);
  out << "    '') COMPREPLY=($(compgen -W " << quoted(in_one_line(first)) << " -- \"$word\")) ;;\n";
  for (const CommandModel& command : commands) {
    const Words words = words_of(command);
    out << "    " << command.name << ")\n"
        << "      if [[ $word == -* ]]; then\n"
        << "        COMPREPLY=($(compgen -W " << quoted(in_one_line(names_of(command.options)))
        << " -- \"$word\"))\n"
        << "      else\n"
        << "        COMPREPLY=($(compgen -W " << quoted(in_one_line(words.choices))
        << " -- \"$word\"))\n";
    if (words.files) out << "        compopt -o default\n";
    out << "      fi ;;\n";
  }
  out << "  esac\n"
         "}\n"
         "complete -F _vcap vcap\n";
}

/// The part of a specification of _arguments that says how a value is completed.
std::string zsh_value(const OptionModel& option) {
  const std::string name = replaced(option.value, ":", "\\:");
  if (option.takes_file) return ":" + name + ":_files";
  if (!option.choices.empty()) return ":" + name + ":(" + in_one_line(option.choices) + ")";
  return ":" + name + ":";
}

std::string zsh_option(const OptionModel& option, const std::string& name) {
  std::string text = brief(option.help);
  for (const char* const special : {"\\", "[", "]", ":"})
    text = replaced(text, special, std::string("\\") + special);
  std::string spec = option.repeats ? "*" : "";
  spec += name;
  if (option.value.empty()) return quoted(spec + "[" + text + "]");
  return quoted(spec + (name.starts_with("--") ? "=" : "+") + "[" + text + "]" + zsh_value(option));
}

void write_zsh(std::ostream& out, const std::vector<CommandModel>& commands,
               const std::vector<OptionModel>& own) {
  out << "#compdef vcap\n"
         "# Completes the command vcap in zsh.\n"
         "_vcap() {\n"
         "  local context state line\n"
         "  local -a commands\n"
         "  _arguments -C";
  for (const OptionModel& option : own)
    for (const std::string& name : option.names) out << " \\\n    " << zsh_option(option, name);
  out << " \\\n    '1: :->command' '*:: :->arguments'\n"
         "  case $state in\n"
         "    command)\n"
         "      commands=(\n";
  for (const CommandModel& command : commands)
    out << "        " << quoted(command.name + ":" + replaced(brief(command.help), ":", "\\:"))
        << '\n';
  out << "      )\n"
         "      _describe command commands ;;\n"
         "    arguments)\n"
         "      case $words[1] in\n";
  for (const CommandModel& command : commands) {
    out << "        " << command.name << ")\n          _arguments";
    for (const OptionModel& option : command.options)
      for (const std::string& name : option.names)
        out << " \\\n            " << zsh_option(option, name);
    for (const OptionModel& positional : command.positionals)
      out << " \\\n            " << (positional.repeats ? "'*'" : "")
          << quoted(zsh_value(positional));
    out << " ;;\n";
  }
  out << "      esac ;;\n"
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _vcap ]]; then _vcap \"$@\"; else compdef _vcap vcap; fi\n";
}

void write_fish_option(std::ostream& out, const std::string& condition, const OptionModel& option) {
  out << "complete -c vcap -n " << quoted_for_fish(condition);
  for (const std::string& name : option.names)
    out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
  if (option.takes_file)
    out << " -r -F";
  else if (!option.value.empty())
    out << " -x";
  if (!option.choices.empty()) out << " -a " << quoted_for_fish(in_one_line(option.choices));
  out << " -d " << quoted_for_fish(brief(option.help)) << '\n';
}

void write_fish(std::ostream& out, const std::vector<CommandModel>& commands,
                const std::vector<OptionModel>& own) {
  out << "# Completes the command vcap in fish.\n"
         "complete -c vcap -f\n";
  for (const OptionModel& option : own) write_fish_option(out, "__fish_use_subcommand", option);
  for (const CommandModel& command : commands) {
    out << "complete -c vcap -n __fish_use_subcommand -a " << command.name << " -d "
        << quoted_for_fish(brief(command.help)) << '\n';
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    for (const OptionModel& option : command.options) write_fish_option(out, condition, option);
    const Words words = words_of(command);
    if (words.files || !words.choices.empty())
      out << "complete -c vcap -n " << quoted_for_fish(condition) << (words.files ? " -F" : "")
          << (words.choices.empty() ? "" : " -a " + quoted_for_fish(in_one_line(words.choices)))
          << '\n';
  }
}

}  // namespace

void add_completion(CLI::App& app, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion",
      "Prints a script with which a shell completes this command's words. bash: source <(vcap "
      "completion bash); zsh: source <(vcap completion zsh); fish: vcap completion fish | source");
  command->add_option("SHELL", *shell, "The shell")
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->required();
  command->callback([&app, &chosen, shell] {
    chosen = [&app, shell] {
      const auto write = *shell == "bash" ? write_bash : *shell == "zsh" ? write_zsh : write_fish;
      write(std::cout, commands_of(app), options_of(app));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace vcap::cli
