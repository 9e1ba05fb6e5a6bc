// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/access_options.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

struct PackArguments {
  std::vector<std::string> libraries;
  std::vector<std::string> files;
  std::string output;
  KeyArguments key;
};

struct Named {
  std::string name;
  std::string path;
};

/// "linux-x86_64=build/a.so", or only a path. The part before '=' must look like a platform, so
/// that a path may contain '='.
Named read_library(const std::string& text) {
  static const std::regex form("([a-z0-9]+-[a-z0-9_]+)=(.+)");
  std::smatch parts;
  if (std::regex_match(text, parts, form)) return {parts[1].str(), parts[2].str()};
  return {std::string(platform()), text};
}

/// "model.onnx=build/model_v3.onnx", or only a path, whose last part is the name.
Named read_file(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) return {fs::path(text).filename().string(), text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::map<std::string, std::string> read_all(const std::vector<std::string>& texts,
                                            Named (*read)(const std::string&), const char* option) {
  std::map<std::string, std::string> result;
  for (const std::string& text : texts) {
    Named named = read(text);
    const auto [place, is_new] = result.emplace(named.name, named.path);
    if (!is_new)
      throw UsageError(std::string(option) + " " + text + ": \"" + named.name +
                       "\" is given already, as " + place->second + "; give each one once");
  }
  return result;
}

int pack(const PackArguments& arguments) {
  const Manifest manifest =
      package_capsule({.libraries = read_all(arguments.libraries, read_library, "--library"),
                       .files = read_all(arguments.files, read_file, "--file")},
                      arguments.output, {.key = read_key(arguments.key)});
  std::cout << "packed " << arguments.output << ": " << manifest.info.name << " version "
            << manifest.info.version << ", " << counted(manifest.files.size(), "file") << '\n';
  return kDone;
}

}  // namespace

void add_pack(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<PackArguments>();
  CLI::App* command =
      app.add_subcommand("pack", "Makes a capsule from a built plugin and its files");
  command
      ->add_option("--library", arguments->libraries,
                   "The plugin; without PLATFORM, it is for this machine (" +
                       std::string(platform()) + "). Its code is run to read its description.")
      ->type_name("[PLATFORM=]PATH")
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option("--file", arguments->files,
                   "Another file, such as a model; NAME is its name in the capsule")
      ->type_name("[NAME=]PATH")
      ->allow_extra_args(false);
  command->add_option("--output", arguments->output, "The capsule to write, such as detector.cap")
      ->type_name("PATH")
      ->required();
  add_key_options(*command, arguments->key);
  command->callback([arguments, &chosen] { chosen = [arguments] { return pack(*arguments); }; });
}

}  // namespace vcap::cli
