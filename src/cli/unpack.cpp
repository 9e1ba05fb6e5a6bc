// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "cli/access_options.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap::cli {

void add_unpack(CLI::App& app, Action& chosen) {
  struct Arguments {
    std::string capsule;
    std::string folder;
    AccessArguments access;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("unpack", "Writes everything in a capsule into a folder; runs none of it");
  command->add_option("capsule", arguments->capsule, "The capsule")->required();
  command->add_option("folder", arguments->folder, "A folder that is empty or does not exist")
      ->required();
  add_access_options(*command, arguments->access);
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      unpackage_capsule(arguments->capsule, arguments->folder, read_access(arguments->access));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace vcap::cli
