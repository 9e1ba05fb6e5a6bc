// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/access_options.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/cluster_text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/resource_arguments.hpp"
#include "cli/view_arguments.hpp"
#include "cli/view_console.hpp"
#include "cli/watch.hpp"
#include "vcap/cluster/cluster_metrics.hpp"
#include "vcap/cluster/worker.hpp"
#include "vcap/view/live_view.hpp"

namespace vcap::cli {
namespace {

struct WorkerArguments {
  ClusterArguments cluster;
  std::string folder;
  int slots = 0;
  double lease = 30;
  double grace = 1;
  std::string name;
  std::vector<std::string> labels;
  std::optional<double> capacity;
  double stream_lease = 4;
  double record_time = 1;
  double checkpoint_time = 10;
  double spool_megabytes = 1024;
  std::string metrics;
  ViewArguments view;
  std::string view_url;
  AccessArguments access;
  ResourceArguments resources;
};

/// Shows the worker's streams for as long as the result lives; null without --view.
std::shared_ptr<LiveView> offer_view(const WorkerArguments& arguments, ClusterWorker& worker) {
  if (arguments.view.address.empty()) return nullptr;
  const LiveViewSettings settings = arguments.view.settings();
  auto view = std::make_shared<LiveView>(worker.viewed_streams(), settings);
  worker.set_view(view->sink(), arguments.view_url.empty() ? url_for_others(settings, view->port())
                                                           : arguments.view_url);
  announce(view, settings);
  return view;
}

int work(const WorkerArguments& arguments) {
  LoadOptions load = read_access(arguments.access);
  load.resources = arguments.resources.options();
  const std::shared_ptr<Cluster> cluster = arguments.cluster.connect();
  WorkerSettings settings{
      .folder = arguments.folder,
      .load = load,
      .slots = arguments.slots,
      .lease = seconds_of(arguments.lease),
      .on_load = renew_exit_watch,
      .name = arguments.name,
      .labels = {arguments.labels.begin(), arguments.labels.end()},
      .stream_lease = seconds_of(arguments.stream_lease),
      .record_time = seconds_of(arguments.record_time),
      .checkpoint_time = seconds_of(arguments.checkpoint_time),
      .spool_bytes = static_cast<std::uint64_t>(arguments.spool_megabytes * 1e6)};
  settings.capacity = arguments.capacity;
  ClusterWorker worker(cluster, settings);
  Console::shared().line("vcap: worker " + printable(worker.name()) + " works for site " +
                         cluster->site());
  const auto view = offer_view(arguments, worker);
  std::optional<ClusterMetricsServer> metrics;
  if (!arguments.metrics.empty()) {
    metrics.emplace(cluster, with_host(arguments.metrics));
    Console::shared().line("vcap: metrics of the site are at port " +
                           std::to_string(metrics->port()));
  }
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
              .on_overdue =
                  [&leave, &cluster, closed = false](auto) mutable {
                    // The broker may be what does not return, although it had answered.
                    if (std::exchange(closed, true)) leave();
                    cluster->close();
                  },
              .on_leave = leave,
              .progress =
                  [&worker](auto) {
                    const WorkerStatistics now = worker.statistics();
                    return std::to_string(now.streams) + " streams, " + std::to_string(now.done) +
                           " slices done, " + std::to_string(now.failed) + " attempts failed";
                  },
              .grace = seconds_of(arguments.grace)});
  if (has_foreign_exit()) leave_now(kForeignExit);
  const WorkerStatistics done = worker.statistics();
  std::cout << "slices done      " << done.done << "\nattempts failed  " << done.failed
            << "\ngiven back       " << done.released << '\n'
            << std::flush;
  return kDone;
}

void add_view_options(CLI::App& command, WorkerArguments& arguments) {
  arguments.view.add_access_to(
      command,
      "Shows the streams that this worker runs in a browser, at http://HOST:PORT/, and lists the "
      "other ones of the site; default HOST: 127.0.0.1; port 0: any free port. Without "
      "--view-tokens, only a loopback address is allowed. Nothing can be changed there",
      "Who may look at the live view");
  command
      .add_option("--view-url", arguments.view_url,
                  "Where browsers reach the live view, if not at the address of --view, such as "
                  "behind a proxy; the views of other workers link to it")
      ->type_name("URL")
      ->needs(command.get_option("--view"));
}

void add_stream_options(CLI::App& command, WorkerArguments& arguments) {
  command
      .add_option("--metrics", arguments.metrics,
                  "Serves metrics of the whole site for Prometheus, at http://HOST:PORT/metrics, "
                  "without a password; default HOST: 127.0.0.1; port 0: any free port")
      ->type_name("HOST:PORT");
  command
      .add_option("--name", arguments.name,
                  "The worker's name, unique in the site (default: made of the host's name and "
                  "the folder)")
      ->type_name("NAME");
  command
      .add_option("--label", arguments.labels, "A label that streams may ask for; may be repeated")
      ->type_name("LABEL")
      ->allow_extra_args(false);
  command
      .add_option("--capacity", arguments.capacity,
                  "How much streams may take together; 0: no streams (default: all cores)")
      ->type_name("CORES")
      ->check(CLI::Range(0.0, 1e6).description(""));
  const auto seconds = [&command](const char* name, double& value, double least, double most,
                                  const char* help) {
    command.add_option(name, value, help)
        ->type_name("SECONDS")
        ->check(CLI::Range(least, most).description(""))
        ->capture_default_str();
  };
  seconds("--stream-lease", arguments.stream_lease, 1, 3'600,
          "After so many seconds without this worker, other workers take its streams over");
  seconds("--record-time", arguments.record_time, 0.001, 60,
          "Records of a stream wait for so long for others, to go to the broker in one message");
  seconds("--checkpoint-time", arguments.checkpoint_time, 1, 86'400,
          "How often what capsules know of a stream is saved, for the worker that takes it over");
  command
      .add_option("--spool-size", arguments.spool_megabytes,
                  "The most megabytes of records that wait on the disk for a broker that is away")
      ->type_name("MB")
      ->check(CLI::Range(1.0, 1e9).description(""))
      ->capture_default_str();
}

}  // namespace

void add_worker(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<WorkerArguments>();
  CLI::App* command = app.add_subcommand(
      "worker", "Works on the jobs and streams of a cluster, until Ctrl-C or SIGTERM");
  arguments->cluster.require_in(*command, "--nats");
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
  add_stream_options(*command, *arguments);
  add_view_options(*command, *arguments);
  add_access_options(*command, arguments->access);
  arguments->resources.add_to(*command, "--resource-cache");
  command->footer(kExitCodesHelp);
  command->callback([arguments, &chosen] { chosen = [arguments] { return work(*arguments); }; });
}

}  // namespace vcap::cli
