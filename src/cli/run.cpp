// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <future>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/access_options.hpp"
#include "cli/capsule_settings.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/part_arguments.hpp"
#include "cli/policy_arguments.hpp"
#include "cli/resource_arguments.hpp"
#include "cli/run_bulk.hpp"
#include "cli/run_outputs.hpp"
#include "cli/run_streams.hpp"
#include "cli/source_arguments.hpp"
#include "cli/stop_signal.hpp"
#include "cli/stream_names.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"
#include "vcap/pipeline/metrics_server.hpp"

namespace vcap::cli {
namespace {

constexpr const char* kHelp =
    "Each source is a video file, a webcam's index, an rtsp or http(s) URL, a folder of images or "
    "a glob of images, and becomes a stream with its name.\n"
    "If a capsule fails on a frame, the record has its error, and the stream continues. Exit code "
    "1 means that a stream ended early for a reason other than its source or output, or that a "
    "capsule failed on every frame.\n"
    "Ctrl-C or SIGTERM stops the sources and finishes the files and the summary; this is not a "
    "failure. A second one ends at once and finishes no file (exit code 130). A stopped job "
    "(--job, "
    "--out) continues at the next run; its exit code 1 means that not all videos are done.";

struct RunArguments {
  std::vector<std::string> capsules;
  std::vector<std::string> sources;
  std::vector<std::string> options;
  std::vector<std::string> configs;
  StreamArguments streams;
  AccessArguments access;
  OutputPaths outputs;
  ResourceArguments resources;
  SourceArguments range;
  PartArguments parts;
  std::string metrics;          ///< address of the metrics server; empty: no server
  std::int64_t max_frames = 0;  ///< 0: all
  bool leave_out = false;
  PolicyArguments policies;
  BulkArguments bulk;
};

LoadOptions access_of(const RunArguments& arguments) {
  LoadOptions access = read_access(arguments.access);
  access.resources = arguments.resources.options();
  return access;
}

std::vector<CapsuleInfo> read_infos(const std::vector<std::string>& paths,
                                    const LoadOptions& access) {
  std::vector<CapsuleInfo> infos;
  infos.reserve(paths.size());
  for (const std::string& path : paths) infos.push_back(read_manifest(path, access).info);
  return infos;
}

/// The capsules that frames go through.
std::vector<CapsuleInfo> infos_in(const Plan& plan, const std::vector<CapsuleInfo>& infos) {
  std::vector<CapsuleInfo> used;
  for (const CapsuleInfo& info : infos)
    if (std::ranges::any_of(plan.steps(),
                            [&](const Plan::Step& step) { return step.name == info.name; }))
      used.push_back(info);
  return used;
}

std::vector<std::shared_ptr<Capsule>> load_all(const std::vector<std::string>& paths,
                                               const std::vector<CapsuleInfo>& infos,
                                               const CapsuleSettings& settings,
                                               const LoadOptions& access) {
  std::vector<std::shared_ptr<Capsule>> capsules;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    LoadOptions options = access;
    if (const auto config = settings.config.find(infos[i].name); config != settings.config.end())
      options.config = config->second;
    capsules.push_back(load_capsule(paths[i], options));
  }
  return capsules;
}

/// Serves metrics for as long as the result lives. If only a port is given, only this machine can
/// reach it.
std::unique_ptr<MetricsServer> offer_metrics(const Pipeline& pipeline, std::string address) {
  if (address.empty()) return nullptr;
  if (address.find(':') == std::string::npos) address.insert(0, ":");
  if (address.front() == ':') address.insert(0, "127.0.0.1");
  auto server = std::make_unique<MetricsServer>(pipeline, address);
  Console::shared().line("vcap: metrics are at http://" + address.substr(0, address.rfind(':')) +
                         ":" + std::to_string(server->port()) + "/metrics");
  return server;
}

/// Writes one message for each failed stream; returns the exit code of the first.
int report_failures(const RunStreams& streams) {
  int exit_code = kDone;
  for (const StreamReport& report : streams.reports()) {
    if (!report.failure) continue;
    Console::shared().line("vcap: stream " + report.id + ": " + *report.failure);
    if (exit_code == kDone) exit_code = exit_code_of_stream(report.failure_cause);
  }
  if (exit_code == kDone && streams.every_frame_failed()) {
    Console::shared().line("vcap: a capsule failed on every frame; the first: " +
                           streams.first_error());
    exit_code = kFailed;
  }
  return exit_code;
}

/// Each on its own thread: a camera may take seconds.
std::vector<std::future<std::unique_ptr<Source>>> open_at_once(
    const std::vector<std::string>& names, const SourceOptions& options) {
  std::vector<std::future<std::unique_ptr<Source>>> sources;
  sources.reserve(names.size());
  for (const std::string& name : names)
    sources.push_back(std::async(std::launch::async | std::launch::deferred,
                                 [&name, options] { return open_source(name, options); }));
  return sources;
}

/// Calls that were given up still run the capsule's code, so it must not be unloaded.
bool has_lost_calls(const Pipeline& pipeline) {
  for (const CapsuleStats& capsule : pipeline.stats().capsules)
    for (const BackendStatistics& backend : capsule.backends)
      if (backend.running > 0) return true;
  return false;
}

/// `lost_calls`: whether the process must not end in the usual way.
int run(const RunArguments& arguments, bool& lost_calls) {
  // Everything in the manifests is checked before any capsule's code runs.
  const LoadOptions access = access_of(arguments);
  const std::vector<CapsuleInfo> infos = read_infos(arguments.capsules, access);
  const UnfitPolicy unfit = arguments.leave_out ? UnfitPolicy::leave_out : UnfitPolicy::refuse;
  const Plan plan(infos, unfit);
  for (const Plan::LeftOut& one : plan.left_out())
    Console::shared().line("vcap: left out: " + one.reason);
  for (const Plan::Conflict& one : plan.conflicts()) Console::shared().line("vcap: " + one.text);
  const CapsuleSettings settings = read_settings(infos, arguments.options, arguments.configs);
  const std::vector<std::string> ids = stream_ids(arguments.sources);
  auto stream_settings = read_stream_settings(ids, infos, settings, arguments.streams);
  check_stream_configs(stream_settings, infos_in(plan, infos));
  const SourceOptions range = arguments.range.options();
  StopSignal stop;  // from here on, because outputs leave files behind if the process is killed
  RunOutputs outputs(arguments.outputs, arguments.sources);
  RunStreams streams;  // outlives the pipeline, which writes to it
  Pipeline pipeline(load_all(arguments.capsules, infos, settings, access),
                    {.frames_in_flight = arguments.policies.frames_in_flight,
                     .quarantine = arguments.policies.quarantine_of_all,
                     .unfit = unfit,
                     .trace = outputs.trace()});
  const auto metrics = offer_metrics(pipeline, arguments.metrics);
  auto sources = open_at_once(arguments.sources, range);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto source = sources[i].get();
    auto sinks = outputs.sinks_of_stream(ids[i], ids.size() > 1, source->info().frames_per_second);
    StreamConfig config{.id = ids[i],
                        .source = std::move(source),
                        .sinks = std::move(sinks),
                        .capsules = std::move(stream_settings.at(ids[i]).capsules),
                        .options = std::move(stream_settings.at(ids[i]).options),
                        .config = std::move(stream_settings.at(ids[i]).config)};
    if (arguments.max_frames > 0) config.max_frames = arguments.max_frames;
    arguments.policies.apply_to(config);
    arguments.parts.apply_to(config);
    streams.add(std::move(config));
  }
  streams.run(pipeline, stop);
  lost_calls = has_lost_calls(pipeline);

  int exit_code = report_failures(streams);
  // If a stream failed and no stream has a record, no output file is kept.
  if (exit_code != kDone && streams.frames() == 0) return exit_code;
  std::ostringstream summary;
  streams.print_summary(summary);
  try {
    outputs.finish(summary.str());
  } catch (const OutputError&) {
    // If writing failed, the stream has reported it already.
    if (exit_code == kDone) throw;
  }
  return exit_code;
}

int run(const RunArguments& arguments) {
  if (arguments.bulk.given())
    return run_bulk(arguments.bulk,
                    {arguments.capsules, arguments.sources, arguments.options, arguments.configs},
                    access_of(arguments));
  bool lost_calls = false;
  const int exit_code = run(arguments, lost_calls);
  if (lost_calls) {
    Console::shared().line("vcap: ends without waiting for calls that do not return");
    std::cout << std::flush;
    std::quick_exit(exit_code);
  }
  return exit_code;
}

/// Checks which arguments are required, with or without a job. Throws CLI::ParseError.
void check(const RunArguments& arguments, const CLI::App& command) {
  if (arguments.bulk.given()) arguments.bulk.check(command);
  if (!arguments.bulk.job.empty()) return;
  if (arguments.capsules.empty()) throw CLI::RequiredError("--capsule");
  if (arguments.sources.empty()) throw CLI::RequiredError("--source");
}

void add_video_options(CLI::App& command, VideoEncoding& encoding) {
  command
      .add_option_function<std::string>(
          "--video-codec",
          [&encoding](const std::string& name) { encoding.codec = video_codec(name); },
          "The codec of the clips of --video (default: h264, in .avi mjpeg). .mp4 supports all but "
          "mjpeg, .avi only mpeg4 and mjpeg")
      ->type_name("h264|h265|vp9|av1|mpeg4|mjpeg")
      ->check(CLI::IsMember({"h264", "h265", "vp9", "av1", "mpeg4", "mjpeg"}).description(""))
      ->needs("--video");
  command
      .add_option(
          "--video-quality", encoding.quality,
          "Constant quality of the clips; lower gives better pictures and larger files: 0 to 51 "
          "for h264 "
          "(default 23) and h265 (28), 0 to 63 for vp9 (32) and av1 (35), 1 to 31 for mpeg4 "
          "and mjpeg (4)")
      ->type_name("N")
      ->needs("--video");
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Runs capsules on videos, webcams and streams");
  const auto repeated = [command](const char* name, std::vector<std::string>& values,
                                  const char* help, const char* type) {
    return command->add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  const auto path = [command](const char* name, std::string& value, const char* help) {
    command->add_option(name, value, help)->type_name("PATH");
  };
  repeated("--capsule", arguments->capsules, "A capsule; may be repeated, in any order", "PATH");
  repeated("--source", arguments->sources,
           "A source of frames, which becomes a stream; may be repeated", "SOURCE");
  arguments->bulk.add_to(*command);
  repeated("--option", arguments->options, "Sets an option of a capsule", "CAPSULE.NAME=VALUE");
  repeated("--config", arguments->configs, "The config that a capsule gets when it is loaded",
           "CAPSULE=JSON|@FILE");
  repeated("--stream-option", arguments->streams.options,
           "Sets an option of a capsule for one stream only", "STREAM:CAPSULE.NAME=VALUE");
  repeated(
      "--stream-config", arguments->streams.configs,
      "The config of a stream's state in a capsule; without STREAM, for all streams that have no "
      "config of their own",
      "[STREAM:]CAPSULE=JSON|@FILE");
  repeated("--stream-capsules", arguments->streams.capsules,
           "Sends a stream only through these capsules", "STREAM=CAPSULE,CAPSULE");
  command->add_flag("--leave-out", arguments->leave_out,
                    "Leaves out capsules that cannot run with the others, and says why");
  arguments->policies.add_to(*command);
  add_access_options(*command, arguments->access);
  path("--jsonl", arguments->outputs.jsonl,
       "Writes one JSON record per frame and line; \"-\" is standard output");
  path("--video", arguments->outputs.video,
       "Writes the frames with the results drawn on them, as .mp4, .mkv or .avi; with several "
       "sources, one clip for each, NAME-STREAM.EXTENSION");
  add_video_options(*command, arguments->outputs.encoding);
  path("--summary", arguments->outputs.summary, "Also writes the summary to this file");
  path("--trace", arguments->outputs.trace,
       "Writes a trace of the time that frames took, for https://ui.perfetto.dev");
  command
      ->add_option_function<std::string>(
          "--when-output-fails",
          [arguments](const std::string& what) {
            if (what == "skip") arguments->outputs.failure = SinkFailurePolicy::skip;
          },
          "If --jsonl or --video cannot be written: end (the default) ends the streams that write "
          "there; skip continues without the lost records, and counts them in the summary")
      ->type_name("end|skip")
      ->check(CLI::IsMember({"end", "skip"}).description(""));
  command
      ->add_option_function<std::string>(
          "--when-output-slow",
          [arguments](const std::string& what) {
            if (what == "drop") arguments->outputs.when_slow = SinkOverflowPolicy::drop_oldest;
          },
          "If --jsonl or --video is slower than the streams, or hangs: wait (the default) makes "
          "the "
          "streams wait; drop drops the oldest if more than 64 records wait, and counts the drops "
          "in the summary")
      ->type_name("wait|drop")
      ->check(CLI::IsMember({"wait", "drop"}).description(""));
  command
      ->add_option("--metrics", arguments->metrics,
                   "Serves metrics of streams, capsules and devices for Prometheus, at "
                   "http://HOST:PORT/metrics, without a password; default HOST: 127.0.0.1; port 0: "
                   "any free port")
      ->type_name("HOST:PORT");
  arguments->resources.add_to(*command, "--resource-cache");
  arguments->range.add_to(*command);
  arguments->parts.add_to(*command);
  command
      ->add_option("--max-frames", arguments->max_frames, "Ends each stream after that many frames")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  command->footer(std::string(kHelp) + "\n" + kExitCodesHelp);
  command->callback([arguments, command, &chosen] {
    check(*arguments, *command);
    chosen = [arguments] { return run(*arguments); };
  });
}

}  // namespace vcap::cli
