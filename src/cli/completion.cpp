// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>
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
  Words words{.choices = command.commands};
  for (const OptionModel& positional : command.positionals) {
    words.choices.insert(words.choices.end(), positional.choices.begin(), positional.choices.end());
    words.files = words.files || positional.takes_file;
  }
  return words;
}

/// Those at the beginning, or in the group that `before` names ("cluster ").
std::vector<const CommandModel*> commands_after(const std::vector<CommandModel>& commands,
                                                std::string_view before) {
  std::vector<const CommandModel*> found;
  for (const CommandModel& command : commands)
    if (command.name.starts_with(before) &&
        command.name.find(' ', before.size()) == std::string::npos)
      found.push_back(&command);
  return found;
}

std::string last_word(const CommandModel& command) {
  return command.name.substr(command.name.rfind(' ') + 1);
}

/// The branch that completes the value of an option.
void write_bash_value(std::ostream& out, const std::string& command, const OptionModel& option) {
  if (option.value.empty()) return;
  std::vector<std::string> places;
  for (const std::string& name : option.names) places.push_back(quoted(command) + "/" + name);
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
         "    [[ ${COMP_WORDS[i]} == -* ]] && continue\n"
         "    command+=${command:+ }${COMP_WORDS[i]}\n"
         "    case $command in\n";
  for (const CommandModel& command : commands)
    if (!command.commands.empty()) out << "      " << quoted(command.name) << ") ;;\n";
  out << "      *) break ;;\n"
         "    esac\n"
         "  done\n"
         "  case $command/$before in\n";
  for (const CommandModel& command : commands)
    for (const OptionModel& option : command.options) write_bash_value(out, command.name, option);
  out << "  esac\n"
         "  case $command in\n";
  std::vector<std::string> first = names_of(own);
  for (const CommandModel* const command : commands_after(commands, {}))
    first.push_back(command->name);
  out << "    '') COMPREPLY=($(compgen -W " << quoted(in_one_line(first)) << " -- \"$word\")) ;;\n";
  for (const CommandModel& command : commands) {
    const Words words = words_of(command);
    out << "    " << quoted(command.name) << ")\n"
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

void write_zsh_commands(std::ostream& out, const std::vector<CommandModel>& commands,
                        const std::vector<OptionModel>& options, const std::string& before);

/// What follows the words of a command.
void write_zsh_command(std::ostream& out, const std::vector<CommandModel>& commands,
                       const CommandModel& command) {
  if (!command.commands.empty())
    return write_zsh_commands(out, commands, command.options, command.name + " ");
  out << "_arguments";
  for (const OptionModel& option : command.options)
    for (const std::string& name : option.names) out << " \\\n    " << zsh_option(option, name);
  for (const OptionModel& positional : command.positionals)
    out << " \\\n    " << (positional.repeats ? "'*'" : "") << quoted(zsh_value(positional));
  out << '\n';
}

/// One of the commands in the group `before`, with what follows it.
void write_zsh_commands(std::ostream& out, const std::vector<CommandModel>& commands,
                        const std::vector<OptionModel>& options, const std::string& before) {
  out << "_arguments -C";
  for (const OptionModel& option : options)
    for (const std::string& name : option.names) out << " \\\n    " << zsh_option(option, name);
  out << " \\\n    '1: :->command' '*:: :->arguments'\n"
         "case $state in\n"
         "command)\n"
         "  commands=(\n";
  const std::vector<const CommandModel*> here = commands_after(commands, before);
  for (const CommandModel* const command : here)
    out << "    " << quoted(last_word(*command) + ":" + replaced(brief(command->help), ":", "\\:"))
        << '\n';
  out << "  )\n"
         "  _describe command commands ;;\n"
         "arguments)\n"
         "  case $words[1] in\n";
  for (const CommandModel* const command : here) {
    out << "  " << last_word(*command) << ")\n";
    write_zsh_command(out, commands, *command);
    out << "  ;;\n";
  }
  out << "  esac ;;\n"
         "esac\n";
}

void write_zsh(std::ostream& out, const std::vector<CommandModel>& commands,
               const std::vector<OptionModel>& own) {
  out << "#compdef vcap\n"
         "# Completes the command vcap in zsh.\n"
         "_vcap() {\n"
         "local context state line\n"
         "local -a commands\n";
  write_zsh_commands(out, commands, own, {});
  out << "}\n"
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

/// That the line has the words of a command, and no further word of one in its group.
std::string fish_condition(const CommandModel& command) {
  std::string condition;
  std::istringstream words(command.name);
  for (std::string word; words >> word;)
    condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
  if (!command.commands.empty())
    condition += "; and not __fish_seen_subcommand_from " + in_one_line(command.commands);
  return condition;
}

void write_fish(std::ostream& out, const std::vector<CommandModel>& commands,
                const std::vector<OptionModel>& own) {
  out << "# Completes the command vcap in fish.\n"
         "complete -c vcap -f\n";
  for (const OptionModel& option : own) write_fish_option(out, "__fish_use_subcommand", option);
  std::string group = "__fish_use_subcommand";  // the condition of the group before
  for (const CommandModel& command : commands) {
    if (command.name.find(' ') == std::string::npos) group = "__fish_use_subcommand";
    out << "complete -c vcap -n " << quoted_for_fish(group) << " -a " << last_word(command)
        << " -d " << quoted_for_fish(brief(command.help)) << '\n';
    const std::string condition = fish_condition(command);
    for (const OptionModel& option : command.options) write_fish_option(out, condition, option);
    if (!command.commands.empty()) {
      group = condition;
      continue;
    }
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
