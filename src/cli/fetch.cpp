// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>

#include "cli/access_options.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/resource_arguments.hpp"
#include "vcap/loading/fetch_resources.hpp"

namespace vcap::cli {
namespace {

struct FetchArguments {
  std::string capsule;
  AccessArguments access;
  ResourceArguments resources;
};

int fetch(const FetchArguments& arguments) {
  LoadOptions options = read_access(arguments.access);
  options.resources = arguments.resources.options();
  const auto fetched = fetch_resources(arguments.capsule, options);
  for (const FetchedResource& one : fetched)
    std::cout << one.resource.name << "  " << one.path << '\n';
  return kDone;
}

}  // namespace

void add_fetch(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<FetchArguments>();
  CLI::App* command = app.add_subcommand(
      "fetch",
      "Fetches the resources that a capsule names, ahead of time, and shows where each "
      "is; runs none of its code");
  command->add_option("capsule", arguments->capsule, "The capsule")->required();
  add_access_options(*command, arguments->access);
  arguments->resources.add_to(*command, "--cache");
  command->footer(kExitCodesHelp);
  command->callback([arguments, &chosen] { chosen = [arguments] { return fetch(*arguments); }; });
}

}  // namespace vcap::cli
