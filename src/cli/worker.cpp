// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>

#include "cli/access_options.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/resource_arguments.hpp"
#include "cli/watch.hpp"
#include "vcap/cluster/worker.hpp"

namespace vcap::cli {
namespace {

struct WorkerArguments {
  ClusterArguments cluster;
  std::string folder;
  int slots = 0;
  double lease = 30;
  double grace = 1;
  AccessArguments access;
  ResourceArguments resources;
};

std::chrono::nanoseconds seconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

int work(const WorkerArguments& arguments) {
  LoadOptions load = read_access(arguments.access);
  load.resources = arguments.resources.options();
  const std::shared_ptr<Cluster> cluster = arguments.cluster.connect();
  ClusterWorker worker(cluster, {.folder = arguments.folder,
                                 .load = load,
                                 .slots = arguments.slots,
                                 .lease = seconds_of(arguments.lease),
                                 .on_load = renew_exit_watch});
  Console::shared().line("vcap: works for site " + cluster->site());
  StopSignal stop;
  std::stop_source stopping;
  // What is in progress is leased, and another worker takes it over.
  const auto leave = [&arguments] {
    if (!has_foreign_exit())
      Console::shared().line(
          "vcap: the worker is left, because something does not return: a frame in progress, or "
          "the broker. Other workers take its slices over when their leases have run out, after " +
          std::to_string(std::lround(arguments.lease)) + " s at most");
    leave_now(has_foreign_exit() ? kForeignExit : kHung);
  };
  watch_over([&] { worker.run(stopping.get_token()); }, stop,
             {.on_stop =
                  [&stopping, &cluster] {
                    stopping.request_stop();
                    close_if_silent(*cluster);
                  },
              .on_overdue = [&leave](auto) { leave(); },
              .on_leave = leave,
              .progress =
                  [&worker](auto) {
                    const WorkerStatistics now = worker.statistics();
                    return std::to_string(now.done) + " slices done, " +
                           std::to_string(now.failed) + " attempts failed";
                  },
              .grace = seconds_of(arguments.grace)});
  if (has_foreign_exit()) leave_now(kForeignExit);
  const WorkerStatistics done = worker.statistics();
  std::cout << "slices done      " << done.done << "\nattempts failed  " << done.failed
            << "\ngiven back       " << done.released << '\n'
            << std::flush;
  return kDone;
}

}  // namespace

void add_worker(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<WorkerArguments>();
  CLI::App* command =
      app.add_subcommand("worker", "Works on the jobs of a cluster, until Ctrl-C or SIGTERM");
  arguments->cluster.add_to(*command, "--nats");
  command->get_option("--nats")->required();
  command
      ->add_option("--capsules", arguments->folder,
                   "A folder for the capsules that are fetched from the cluster, and for results "
                   "that are being written")
      ->type_name("FOLDER")
      ->required();
  command
      ->add_option("--slots", arguments->slots,
                   "Slices of videos in progress at once; 0: one for each core")
      ->check(CLI::Range(0, 4096).description(""))
      ->capture_default_str();
  command
      ->add_option("--lease", arguments->lease,
                   "After so many seconds without this worker, another one takes its slices over")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 86'400.0).description(""))
      ->capture_default_str();
  command
      ->add_option("--grace", arguments->grace,
                   "How many seconds the frames in progress may take at the end")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86'400.0).description(""))
      ->capture_default_str();
  add_access_options(*command, arguments->access);
  arguments->resources.add_to(*command, "--resource-cache");
  command->footer(kExitCodesHelp);
  command->callback([arguments, &chosen] { chosen = [arguments] { return work(*arguments); }; });
}

}  // namespace vcap::cli
