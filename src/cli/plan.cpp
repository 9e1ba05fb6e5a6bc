// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/Error.hpp>
#include <nlohmann/json.hpp>

#include "cli/access_options.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "vcap/loading/manifest.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap::cli {
namespace {

struct PlanArguments {
  std::vector<std::string> positionals;  ///< capsules
  std::vector<std::string> capsules;
  bool as_json = false;
  bool as_dot = false;
  bool leave_out = false;
  AccessArguments access;
};

int show_plan(const PlanArguments& arguments) {
  std::vector<CapsuleInfo> infos;
  const LoadOptions access = read_access(arguments.access);
  for (const std::string& path : arguments.capsules)
    infos.push_back(read_manifest(path, access).info);
  const Plan plan(infos, arguments.leave_out ? UnfitPolicy::leave_out : UnfitPolicy::refuse);
  if (arguments.as_json)
    std::cout << nlohmann::json(plan).dump(2) << '\n';
  else if (arguments.as_dot)
    std::cout << plan.to_dot();
  else
    std::cout << plan.explain();
  return kDone;
}

}  // namespace

void add_plan(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand(
      "plan",
      "Shows the order in which capsules would get a frame, and why; runs none of their code");
  command->add_option("CAPSULE", arguments->positionals, "Capsules, in any order")
      ->type_name("PATH");
  command->add_option("--capsule", arguments->capsules, "A capsule; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  CLI::Option* json = command->add_flag("--json", arguments->as_json, "As JSON");
  command->add_flag("--dot", arguments->as_dot, "As a graph for Graphviz")->excludes(json);
  command->add_flag("--leave-out", arguments->leave_out,
                    "Leaves out capsules that cannot run with the others, and says why");
  add_access_options(*command, arguments->access);
  command->callback([arguments, &chosen] {
    arguments->capsules.insert(arguments->capsules.end(), arguments->positionals.begin(),
                               arguments->positionals.end());
    if (arguments->capsules.empty())
      throw CLI::RequiredError("a capsule (CAPSULE or --capsule PATH)");
    chosen = [arguments] { return show_plan(*arguments); };
  });
}

}  // namespace vcap::cli
