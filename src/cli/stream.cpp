// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/access_options.hpp"
#include "cli/capsule_settings.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/cluster_text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/stop_signal.hpp"
#include "cli/watch.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/cluster_records.hpp"
#include "vcap/cluster/cluster_stream.hpp"
#include "vcap/cluster/rollout.hpp"

namespace vcap::cli {
namespace {

constexpr std::chrono::milliseconds kRecordWait{200};

struct AddArguments {
  ClusterArguments cluster;
  ClusterStream stream;
  std::string source_file;
  std::vector<std::string> capsules;
  std::vector<std::string> labels;
  std::vector<std::string> options;
  std::vector<std::string> configs;
  std::vector<std::string> stream_configs;
  std::optional<double> load;
  double deadline = 10;
  bool replace = false;
  AccessArguments access;
};

/// A name without its extension is that of a file, too.
std::string capsule_path(const std::string& name) {
  const bool is_file = name.ends_with(".cap") || std::filesystem::is_regular_file(name);
  return is_file ? name : name + ".cap";
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  const bool has_line = static_cast<bool>(std::getline(file, line));
  if (line.ends_with('\r')) line.pop_back();
  if (!has_line || line.empty())
    throw UsageError("--source-file: the file " + quote(path) + " has no first line");
  return line;
}

int add(const AddArguments& arguments) {
  ClusterStream stream = arguments.stream;
  if (!arguments.source_file.empty()) stream.source = first_line(arguments.source_file);
  if (stream.source.empty()) throw UsageError("give a --source, or a --source-file");
  stream.labels = {arguments.labels.begin(), arguments.labels.end()};
  stream.load = arguments.load;
  stream.capsule_deadline = seconds_of(arguments.deadline);
  const LoadOptions load = read_access(arguments.access);
  LoadOptions describe = load;
  describe.inference_mode = false;
  std::vector<CapsuleInfo> infos;
  for (const std::string& name : arguments.capsules) {
    stream.capsules.push_back({.path = capsule_path(name)});
    infos.push_back(load_capsule(stream.capsules.back().path, describe)->info());
  }
  const CapsuleSettings settings = read_settings(infos, arguments.options, arguments.configs);
  const auto streams =
      read_stream_settings({stream.id}, infos, settings, {.configs = arguments.stream_configs});
  const StreamSettings& own = streams.at(stream.id);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const std::string& name = infos[i].name;
    ClusterStream::CapsuleFile& capsule = stream.capsules[i];
    if (const auto found = settings.config.find(name); found != settings.config.end())
      capsule.config = found->second;
    if (const auto found = own.config.find(name); found != own.config.end())
      capsule.stream_config = found->second;
    if (const auto found = own.options.find(name); found != own.options.end())
      capsule.options = nlohmann::json(found->second);
  }
  add_cluster_stream(*arguments.cluster.connect(), stream, load, arguments.replace);
  return kDone;
}

int list(const ClusterArguments& arguments, bool json) {
  const std::vector<ClusterStreamStatus> streams =
      cluster_streams(*arguments.connect_to_existing());
  if (json)
    std::cout << as_json(streams).dump(2) << '\n';
  else
    write_text(std::cout, streams);
  return kDone;
}

struct RecordArguments {
  ClusterArguments cluster;
  std::string id;
  bool all = false;
  bool follow = false;
};

/// Throws UsageError if the site has no such stream. A stream that was removed may have records.
void expect_stream(Cluster& cluster, const std::string& id) {
  if (id.empty()) return;
  std::vector<std::string> ids;
  for (const ClusterStreamStatus& stream : cluster_streams(cluster)) ids.push_back(stream.id);
  if (std::ranges::find(ids, id) == ids.end())
    throw UsageError("the site has no stream " + quote(id) + " and no records of one" +
                     suggestion(id, ids) +
                     (suggestion(id, ids).empty() ? "; vcap stream list shows them" : ""));
}

int show_records(const RecordArguments& arguments) {
  const auto cluster = arguments.cluster.connect_to_existing();
  ClusterRecordReader::Settings settings{.stream = arguments.id};
  if (arguments.all || !arguments.follow) settings.after = 0;
  ClusterRecordReader reader(cluster, settings);
  StopSignal stop;
  bool has_any = false;
  while (!stop.raised()) {
    const std::vector<ClusterRecord> records = reader.next(kRecordWait);
    has_any = has_any || !records.empty();
    errno = 0;
    for (const ClusterRecord& record : records) std::cout << record.line << '\n';
    if (!std::cout.flush()) {
      if (errno == EPIPE) std::cout.clear();  // who reads has seen enough, as head does
      break;
    }
    if (!reader.has_more() && !arguments.follow) break;
  }
  if (!has_any && !arguments.follow) expect_stream(*cluster, arguments.id);
  return kDone;
}

void declare_add(CLI::App& parent, Action& chosen) {
  auto arguments = std::make_shared<AddArguments>();
  CLI::App* const command = parent.add_subcommand(
      "add", "Adds a camera to a cluster's site; one of the workers then watches it");
  arguments->cluster.require_in(*command, "--cluster");
  command->add_option("--id", arguments->stream.id, "The name of the stream in the site")
      ->type_name("ID")
      ->required();
  CLI::Option* const source = command
                                  ->add_option("--source", arguments->stream.source,
                                               "The camera, as each worker reaches it")
                                  ->type_name("SOURCE");
  command
      ->add_option("--source-file", arguments->source_file,
                   "The file whose first line is the source, so that its password is in no "
                   "argument")
      ->type_name("PATH")
      ->excludes(source);
  command
      ->add_option("--capsules", arguments->capsules,
                   "The capsules that the frames go through: files, with commas; .cap may be left "
                   "out")
      ->type_name("CAPSULE,CAPSULE")
      ->delimiter(',')
      ->required();
  const auto repeated = [command](const char* name, std::vector<std::string>& values,
                                  const char* help, const char* type) {
    command->add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  repeated("--label", arguments->labels,
           "Only workers with this label run the stream; may be repeated", "LABEL");
  repeated("--option", arguments->options, "Sets an option of a capsule", "CAPSULE.NAME=VALUE");
  repeated("--config", arguments->configs, "The config that a capsule gets when it is loaded",
           "CAPSULE=JSON|@FILE");
  repeated("--stream-config", arguments->stream_configs, "The config of the stream in a capsule",
           "CAPSULE=JSON|@FILE");
  command
      ->add_option("--load", arguments->load,
                   "How much of a worker's capacity it takes, in cores, until that is measured "
                   "(default: 0.25)")
      ->type_name("CORES")
      ->check(CLI::Range(0.0, 1e6).description(""));
  command
      ->add_option("--keep-every", arguments->stream.keep_every, "Analyses one of every N frames")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--capsule-deadline", arguments->deadline,
                   "The longest that a capsule may take for a frame, which then goes on without "
                   "it; 0: no limit")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86'400.0).description(""))
      ->capture_default_str();
  command->add_flag("--replace", arguments->replace,
                    "Changes the stream if there is one with the id");
  add_access_options(*command, arguments->access);
  command->footer(kExitCodesHelp);
  command->callback([arguments, &chosen] { chosen = [arguments] { return add(*arguments); }; });
}

void declare_remove(CLI::App& parent, Action& chosen) {
  struct RemoveArguments {
    ClusterArguments cluster;
    std::string id;
  };
  auto arguments = std::make_shared<RemoveArguments>();
  CLI::App* const command =
      parent.add_subcommand("remove", "Removes a camera from a site; its records stay");
  arguments->cluster.require_in(*command, "--cluster");
  command->add_option("--id", arguments->id, "The name of the stream")->type_name("ID")->required();
  command->footer(kExitCodesHelp);
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      remove_cluster_stream(*arguments->cluster.connect_to_existing(), arguments->id);
      return kDone;
    };
  });
}

void declare_list(CLI::App& parent, Action& chosen) {
  struct ListArguments {
    ClusterArguments cluster;
    bool json = false;
  };
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* const command =
      parent.add_subcommand("list", "Shows the streams of a site, and who runs them");
  arguments->cluster.require_in(*command, "--cluster");
  command->add_flag("--json", arguments->json, "As JSON");
  command->footer(kExitCodesHelp);
  command->callback([arguments, &chosen] {
    chosen = [arguments] { return list(arguments->cluster, arguments->json); };
  });
}

void declare_records(CLI::App& parent, Action& chosen) {
  auto arguments = std::make_shared<RecordArguments>();
  CLI::App* const command = parent.add_subcommand(
      "records",
      "Writes the records of a site's streams to standard output, one JSON object a "
      "line, each once");
  arguments->cluster.require_in(*command, "--cluster");
  command->add_option("--id", arguments->id, "Only of this stream")->type_name("ID");
  command->add_flag("--follow", arguments->follow, "Shows what comes from now on, until Ctrl-C");
  command->add_flag("--all", arguments->all, "With --follow, also what the site still has");
  command->footer(kExitCodesHelp);
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return show_records(*arguments); }; });
}

struct RolloutArguments {
  ClusterArguments cluster;
  std::string capsule;
  std::int64_t frames = 100;
  double patience = 120;
  AccessArguments access;
};

int roll_out(const RolloutArguments& arguments) {
  const auto cluster = arguments.cluster.connect_to_existing();
  StopSignal signal;
  std::stop_source stopping;
  RolloutReport report;
  watch_over(
      [&] {
        report = roll_out_capsule(
            cluster, capsule_path(arguments.capsule),
            {.load = read_access(arguments.access),
             .trial_frames = arguments.frames,
             .patience = seconds_of(arguments.patience),
             .on_stream = [](const std::string& id) { std::cout << printable(id) << '\n'; }},
            stopping.get_token());
      },
      signal,
      {.on_stop = [&stopping] { stopping.request_stop(); },
       .on_overdue = [](auto) {},
       .on_leave = [] { leave_now(kHung); },
       .progress = [](auto) { return std::string("on trial"); }});
  std::cout << "changed  " << report.changed.size() << "\nleft     " << report.left.size() << '\n';
  if (report.failed.empty()) return kDone;
  Console::shared().line("vcap: taken back, because of stream " + printable(report.failed) + ": " +
                         printable(report.reason));
  return kFailed;
}

void declare_rollout(CLI::App& parent, Action& chosen) {
  auto arguments = std::make_shared<RolloutArguments>();
  CLI::App* const command = parent.add_subcommand(
      "rollout",
      "Replaces a capsule in all streams of a site that have one of its name, one stream "
      "after the other, on trial; takes all back if it fails");
  arguments->cluster.require_in(*command, "--cluster");
  command->add_option("--capsule", arguments->capsule, "The new capsule")
      ->type_name("PATH")
      ->required();
  command
      ->add_option("--trial-frames", arguments->frames,
                   "So many frames must each stream give without an error of the capsule")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}).description(""))
      ->capture_default_str();
  command->add_option("--patience", arguments->patience, "How long a stream may take for that")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 86'400.0).description(""))
      ->capture_default_str();
  add_access_options(*command, arguments->access);
  command->footer(kExitCodesHelp);
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return roll_out(*arguments); }; });
}

}  // namespace

void add_stream(CLI::App& app, Action& chosen) {
  CLI::App* const stream =
      app.add_subcommand("stream", "Adds cameras to a cluster's site, and shows their records");
  stream->require_subcommand(1);
  declare_add(*stream, chosen);
  declare_remove(*stream, chosen);
  declare_list(*stream, chosen);
  declare_records(*stream, chosen);
  declare_rollout(*stream, chosen);
}

}  // namespace vcap::cli
