// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/text.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/stop_signal.hpp"
#include "files/output_file.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/job_list.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

struct UpArguments {
  std::string folder;
  std::string host{"127.0.0.1"};
  std::uint16_t port = 4222;
};

/// As the server's configuration has it.
std::string as_nats_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// Runs nats-server until it ends or the process is asked to stop. Returns its exit status.
int run_server(const fs::path& configuration) {
  const std::string path = configuration.string();
  const char* const words[] = {"nats-server", "-c", path.c_str(), nullptr};
  pid_t process = -1;
  const int failed = ::posix_spawnp(&process, "nats-server", nullptr, nullptr,
                                    const_cast<char* const*>(words), environ);
  if (failed != 0)
    throw ClusterError(ErrorCode::broker_unreachable,
                       "nats-server cannot be started: " + std::generic_category().message(failed) +
                           "; apt-get install nats-server");
  StopSignal stop;
  int status = 0;
  bool is_asked = false;
  for (;;) {
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process || (ended < 0 && errno != EINTR)) return status;
    if (stop.raised() && !is_asked) {
      ::kill(process, SIGTERM);
      is_asked = true;
    }
    stop.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(200));
  }
}

int up(const UpArguments& arguments) {
  std::error_code error;
  fs::create_directories(arguments.folder, error);
  if (error)
    throw OutputError(ErrorCode::output_open, "the folder " + quote(arguments.folder) +
                                                  " cannot be created: " + error.message());
  const fs::path folder = fs::canonical(arguments.folder);
  OutputFile file(folder / "nats-server.conf", OutputFile::Target::regular_file);
  file.write("# Written by vcap cluster up.\nserver_name: vcap\nhost: " + as_nats_text(arguments.host) +
             "\nport: " + std::to_string(arguments.port) +
             "\nmax_payload: 1MB\njetstream {\n  store_dir: " +
             as_nats_text((folder / "jetstream").string()) + "\n}\n");
  file.commit();
  std::cout << "nats://" << arguments.host << ':' << arguments.port << '\n' << std::flush;
  const int status = run_server(folder / "nats-server.conf");
  // It ends with 1 after a signal.
  return WIFEXITED(status) && WEXITSTATUS(status) <= 1 ? kDone : kFailed;
}

int show_status(const ClusterArguments& arguments) {
  for (const ClusterJobStatus& job : cluster_jobs(*arguments.connect()))
    std::cout << job.id << "  " << job.state << "  priority " << job.priority << "  videos "
              << job.videos << "  slices: " << job.tasks.waiting << " waiting, " << job.tasks.leased
              << " in progress, " << job.tasks.done << " done, " << job.tasks.given_up
              << " given up\n";
  return kDone;
}

}  // namespace

void add_cluster(CLI::App& app, Action& chosen) {
  CLI::App* const cluster =
      app.add_subcommand("cluster", "Runs a broker for a cluster, and shows what a cluster does");
  cluster->require_subcommand(1);

  auto up_arguments = std::make_shared<UpArguments>();
  CLI::App* const up_command = cluster->add_subcommand(
      "up",
      "Runs a single NATS server for one machine or a trial, until Ctrl-C or SIGTERM; prints its "
      "URL. It accepts everyone, so it listens on this machine only");
  up_command
      ->add_option("--dir", up_arguments->folder, "The folder for its configuration and its state")
      ->type_name("FOLDER")
      ->required();
  up_command->add_option("--port", up_arguments->port, "The port")->capture_default_str();
  up_command->footer(kExitCodesHelp);
  up_command->callback(
      [up_arguments, &chosen] { chosen = [up_arguments] { return up(*up_arguments); }; });

  struct CancelArguments {
    ClusterArguments cluster;
    std::string job;
  };
  auto cancel_arguments = std::make_shared<CancelArguments>();
  CLI::App* const cancel = cluster->add_subcommand(
      "cancel", "Ends a job of a cluster; whoever runs it stops, and keeps what is stored");
  cancel->add_option("job", cancel_arguments->job, "The id of the job, as status shows it")
      ->required();
  cancel_arguments->cluster.add_to(*cancel, "--nats");
  cancel->get_option("--nats")->required();
  cancel->footer(kExitCodesHelp);
  cancel->callback([cancel_arguments, &chosen] {
    chosen = [cancel_arguments] {
      cancel_cluster_job(*cancel_arguments->cluster.connect(), cancel_arguments->job);
      return kDone;
    };
  });

  auto status_arguments = std::make_shared<ClusterArguments>();
  CLI::App* const status = cluster->add_subcommand("status", "Shows the jobs of a cluster's site");
  status_arguments->add_to(*status, "--nats");
  status->get_option("--nats")->required();
  status->footer(kExitCodesHelp);
  status->callback([status_arguments, &chosen] {
    chosen = [status_arguments] { return show_status(*status_arguments); };
  });
}

}  // namespace vcap::cli
