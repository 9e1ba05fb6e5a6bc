// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/cluster_config.hpp"
#include "cli/cluster_text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/nats_text.hpp"
#include "cli/stop_signal.hpp"
#include "files/file_descriptor.hpp"
#include "files/output_file.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/cluster_stream.hpp"
#include "vcap/cluster/cluster_trace.hpp"
#include "vcap/cluster/job_list.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHost = "127.0.0.1";

struct UpArguments {
  std::string folder;
  int port = 4222;
};

/// A process of nats-server. It ends with this one, however that ends. It runs in the folder of its
/// configuration, because it (2.9) sometimes leaves files of a deleted consumer where it runs.
class ServerProcess {
 public:
  explicit ServerProcess(const fs::path& configuration) {
    const std::string path = configuration.string();
    const std::string folder = configuration.parent_path().string();
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (process_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() == parent && ::chdir(folder.c_str()) == 0)
      ::execlp("nats-server", "nats-server", "-c", path.c_str(), static_cast<char*>(nullptr));
    ::_exit(kNotFound);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() {
    if (!status_) ::kill(process_, SIGKILL);
    while (!status_ && !has_ended()) ::usleep(1'000);
  }

  void stop() const { ::kill(process_, SIGTERM); }
  bool has_ended() {
    int status = 0;
    if (!status_ && ::waitpid(process_, &status, WNOHANG) == process_) status_ = status;
    return status_.has_value();
  }
  bool was_found() const {
    return !status_ || !WIFEXITED(*status_) || WEXITSTATUS(*status_) != kNotFound;
  }

 private:
  static constexpr int kNotFound = 127;

  pid_t process_ = -1;
  std::optional<int> status_;
};

/// Whether a broker answers.
bool answers(const std::string& url) {
  try {
    Cluster::connect({.url = url,
                      .create_site = false,
                      .timeout = std::chrono::milliseconds(500),
                      .patience = std::chrono::milliseconds(0)});
  } catch (const ClusterError& error) {
    return error.code() == ErrorCode::broker_unfit;  // there is no site yet
  }
  return true;
}

/// Held as long as the object lives.
FileDescriptor lock_folder(const fs::path& folder) {
  FileDescriptor lock(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  throw OutputError(ErrorCode::output_open,
                    "the folder " + quote(folder.native()) + " cannot be used: " +
                        (errno == EWOULDBLOCK ? "another vcap cluster up uses it"
                                              : std::generic_category().message(errno)));
}

int up(const UpArguments& arguments) {
  std::error_code error;
  fs::create_directories(arguments.folder, error);
  if (error)
    throw OutputError(ErrorCode::output_open, "the folder " + quote(arguments.folder) +
                                                  " cannot be created: " + error.message());
  const fs::path folder = fs::canonical(arguments.folder);
  const FileDescriptor lock = lock_folder(folder);
  const std::string url = "nats://" + std::string(kHost) + ':' + std::to_string(arguments.port);
  if (answers(url))
    throw UsageError("a server answers at " + url + " already; give another --port");
  OutputFile file(folder / "nats-server.conf", OutputFile::Target::regular_file);
  file.write("# Written by vcap cluster up.\nserver_name: vcap\nhost: " + std::string(kHost) +
             "\nport: " + std::to_string(arguments.port) +
             "\nmax_payload: 1MB\njetstream {\n  store_dir: " +
             as_nats_text((folder / "jetstream").string()) + "\n}\n");
  file.commit();
  StopSignal stop;
  ServerProcess server(folder / "nats-server.conf");
  bool is_up = false;
  while (!server.has_ended() && !stop.raised()) {
    if (!is_up && answers(url)) {
      is_up = true;
      std::cout << url << '\n' << std::flush;
    }
    stop.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(is_up ? 200 : 20));
  }
  if (!server.was_found())
    throw ClusterError(ErrorCode::broker_unreachable,
                       "nats-server cannot be started; apt-get install nats-server");
  if (server.has_ended())
    throw ClusterError(ErrorCode::broker_unreachable,
                       "nats-server has ended; its messages above say why");
  server.stop();
  while (!server.has_ended())
    stop.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
  return kDone;
}

int show_status(const ClusterArguments& arguments, bool json) {
  const std::shared_ptr<Cluster> cluster = arguments.connect_to_existing();
  const std::vector<ClusterWorkerStatus> workers = cluster_workers(*cluster);
  const std::vector<ClusterStreamStatus> streams = cluster_streams(*cluster);
  const std::vector<ClusterJobStatus> jobs = cluster_jobs(*cluster);
  if (json) {
    std::cout << nlohmann::json{{"site", cluster->site()},
                                {"workers", as_json(workers)},
                                {"streams", as_json(streams)},
                                {"jobs", as_json(jobs)},
                                {"totals", sum_statistics(workers)}}
                     .dump(2)
              << '\n';
    return kDone;
  }
  std::cout << "site " << cluster->site() << "\nworkers: " << workers.size() << '\n';
  write_text(std::cout, workers);
  std::cout << "streams: " << streams.size() << '\n';
  write_text(std::cout, streams);
  std::cout << "jobs: " << jobs.size() << '\n';
  write_text(std::cout, jobs);
  std::cout << "totals:";
  for (const auto& [name, value] : sum_statistics(workers))
    std::cout << "  " << name << ' ' << value;
  std::cout << '\n';
  return kDone;
}

struct EventArguments {
  ClusterArguments cluster;
  bool follow = false;
  bool json = false;
};

int show_events(const EventArguments& arguments) {
  ClusterEventReader reader(arguments.cluster.connect_to_existing());
  StopSignal stop;
  while (!stop.raised()) {
    const std::vector<ClusterEvent> events = reader.next(std::chrono::milliseconds(200));
    for (const ClusterEvent& event : events) {
      if (arguments.json)
        std::cout << as_json(event).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                  << '\n';
      else
        write_text(std::cout, event);
    }
    std::cout.flush();
    if (!std::cout) break;  // nobody reads on
    if (!reader.has_more() && !arguments.follow) break;
  }
  return kDone;
}

struct TraceArguments {
  ClusterArguments cluster;
  std::string id;
  std::string path;
};

int write_trace(const TraceArguments& arguments) {
  OutputFile file(arguments.path, OutputFile::Target::any);
  const JsonValue trace = cluster_trace(arguments.cluster.connect_to_existing(), arguments.id);
  file.write(trace->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  file.commit();
  return kDone;
}

void declare_trace(CLI::App& parent, Action& chosen) {
  auto arguments = std::make_shared<TraceArguments>();
  CLI::App* const command = parent.add_subcommand(
      "trace",
      "Writes where the time of a job or stream went on all machines, for https://ui.perfetto.dev");
  command->add_option("id", arguments->id, "The id of the job or stream, as status shows it")
      ->required();
  command->add_option("--out", arguments->path, "The file; \"-\" is standard output")
      ->type_name("PATH")
      ->required();
  arguments->cluster.require_in(*command, "--nats");
  command->footer(kExitCodesHelp);
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return write_trace(*arguments); }; });
}

/// Declares `name WORKER`.
void declare_for_worker(CLI::App& parent, Action& chosen, const char* name, const char* help,
                        void (*action)(Cluster&, const std::string&)) {
  struct WorkerArguments {
    ClusterArguments cluster;
    std::string worker;
  };
  auto arguments = std::make_shared<WorkerArguments>();
  CLI::App* const command = parent.add_subcommand(name, help);
  command->add_option("worker", arguments->worker, "The worker's name, as status shows it")
      ->required();
  arguments->cluster.require_in(*command, "--nats");
  command->footer(kExitCodesHelp);
  command->callback([arguments, action, &chosen] {
    chosen = [arguments, action] {
      action(*arguments->cluster.connect_to_existing(), arguments->worker);
      return kDone;
    };
  });
}

void declare_events(CLI::App& parent, Action& chosen) {
  auto arguments = std::make_shared<EventArguments>();
  CLI::App* const command = parent.add_subcommand(
      "events", "Shows what has happened in a site: claims, takeovers, failures, changes");
  arguments->cluster.require_in(*command, "--nats");
  command->add_flag("--follow", arguments->follow, "Shows also what comes, until Ctrl-C");
  command->add_flag("--json", arguments->json, "One JSON object a line");
  command->footer(kExitCodesHelp);
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return show_events(*arguments); }; });
}

}  // namespace

void add_cluster(CLI::App& app, Action& chosen) {
  CLI::App* const cluster = app.add_subcommand(
      "cluster", "Sets up the broker of a cluster, and shows what a cluster does");
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
  up_command->add_option("--port", up_arguments->port, "The port")
      ->check(CLI::Range(1, 65'535).description(""))
      ->capture_default_str();
  up_command->footer(kExitCodesHelp);
  up_command->callback(
      [up_arguments, &chosen] { chosen = [up_arguments] { return up(*up_arguments); }; });

  add_cluster_config(*cluster, chosen);

  struct CancelArguments {
    ClusterArguments cluster;
    std::string job;
  };
  auto cancel_arguments = std::make_shared<CancelArguments>();
  CLI::App* const cancel = cluster->add_subcommand(
      "cancel", "Ends a job of a cluster; whoever runs it stops, and keeps what is stored");
  cancel->add_option("job", cancel_arguments->job, "The id of the job, as status shows it")
      ->required();
  cancel_arguments->cluster.require_in(*cancel, "--nats");
  cancel->footer(kExitCodesHelp);
  cancel->callback([cancel_arguments, &chosen] {
    chosen = [cancel_arguments] {
      cancel_cluster_job(*cancel_arguments->cluster.connect_to_existing(), cancel_arguments->job);
      return kDone;
    };
  });

  struct StatusArguments {
    ClusterArguments cluster;
    bool json = false;
  };
  auto status_arguments = std::make_shared<StatusArguments>();
  CLI::App* const status = cluster->add_subcommand(
      "status", "Shows the workers, streams and jobs of a cluster's site, and their counters");
  status_arguments->cluster.require_in(*status, "--nats");
  status->add_flag("--json", status_arguments->json, "As JSON");
  status->footer(kExitCodesHelp);
  status->callback([status_arguments, &chosen] {
    chosen = [status_arguments] {
      return show_status(status_arguments->cluster, status_arguments->json);
    };
  });

  declare_events(*cluster, chosen);
  declare_trace(*cluster, chosen);
  declare_for_worker(
      *cluster, chosen, "drain", "Makes a worker give its streams to others, and take no more work",
      [](Cluster& site, const std::string& name) { drain_cluster_worker(site, name); });
  declare_for_worker(
      *cluster, chosen, "undrain", "Makes a drained worker work again",
      [](Cluster& site, const std::string& name) { drain_cluster_worker(site, name, false); });
  declare_for_worker(*cluster, chosen, "forget", "Forgets a worker that has ended or died",
                     forget_cluster_worker);
}

}  // namespace vcap::cli
