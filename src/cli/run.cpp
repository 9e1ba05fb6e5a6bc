// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/load_all.hpp"
#include "cli/loaded_capsules.hpp"
#include "cli/run_arguments.hpp"
#include "cli/run_bulk.hpp"
#include "cli/run_ending.hpp"
#include "cli/run_outputs.hpp"
#include "cli/run_recording.hpp"
#include "cli/run_streams.hpp"
#include "cli/run_view.hpp"
#include "cli/start_step.hpp"
#include "cli/stop_signal.hpp"
#include "cli/stream_names.hpp"
#include "files/url.hpp"
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
    "failure. A call of a capsule that has not returned after --grace, or at a second signal, is "
    "given up: the files are finished without its result (exit code 9). A third signal ends at "
    "once "
    "and leaves unfinished files as NAME.part (exit code 130). Signals within a second count as "
    "one. A stopped job (--job, --out) continues at the next run; its exit code 1 means that not "
    "all videos are done.";

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

/// Serves metrics for as long as the result lives.
std::unique_ptr<MetricsServer> offer_metrics(const RunArguments& arguments,
                                             const Pipeline& pipeline, const RunOutputs& outputs) {
  if (arguments.metrics.empty()) return nullptr;
  const std::string address = with_host(arguments.metrics);
  auto server = std::make_unique<MetricsServer>(pipeline, address, arguments.metrics_limits,
                                                outputs.publishers());
  Console::shared().line("vcap: metrics are at http://" + address.substr(0, address.rfind(':')) +
                         ":" + std::to_string(server->port()) + "/metrics");
  return server;
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

/// In threads of their own, since a source may hang.
std::vector<std::unique_ptr<Source>> open_sources(const RunArguments& arguments,
                                                  const Starting& starting) {
  std::vector<std::unique_ptr<Source>> opened;
  do_start_step(
      [&] {
        auto sources = open_at_once(arguments.sources, arguments.range.options());
        for (auto& source : sources) opened.push_back(source.get());
      },
      [] { return std::string("opening the sources"); }, starting);
  return opened;
}

/// What a run has read and checked before any capsule's code runs.
struct Prepared {
  LoadOptions access;
  std::vector<CapsuleInfo> infos;
  UnfitPolicy unfit;
  CapsuleSettings settings;
  std::vector<std::string> ids;  ///< of the streams
  std::map<std::string, StreamSettings> streams;
};

Prepared prepare(const RunArguments& arguments) {
  Prepared prepared{.access = arguments.load_options(),
                    .infos = {},
                    .unfit = arguments.leave_out ? UnfitPolicy::leave_out : UnfitPolicy::refuse,
                    .settings = {},
                    .ids = {},
                    .streams = {}};
  prepared.infos = read_infos(arguments.capsules, prepared.access);
  const std::vector<CapsuleInfo>& infos = prepared.infos;
  const Plan plan(infos, prepared.unfit);
  for (const Plan::LeftOut& one : plan.left_out())
    Console::shared().line("vcap: left out: " + one.reason);
  for (const Plan::Conflict& one : plan.conflicts()) Console::shared().line("vcap: " + one.text);
  prepared.settings = read_settings(infos, arguments.options, arguments.configs);
  read_stencils(infos, arguments.stencils, prepared.settings);
  read_max_calls(infos, arguments.max_calls, prepared.settings);
  prepared.ids = stream_ids(arguments.sources);
  prepared.streams =
      read_stream_settings(prepared.ids, infos, prepared.settings, arguments.streams);
  check_stream_configs(prepared.streams, infos_in(plan, infos));
  for (const std::string& text : arguments.outputs.exports) parse_export(text);
  static_cast<void>(arguments.range.options());  // refuses wrong ones before anything is made
  return prepared;
}

/// Where the frames of a run's streams go. Borrows.
struct Receivers {
  RunOutputs& outputs;
  RunStreams& streams;
  RunRecording& recording;
  const LiveView* view;  ///< null: none
};

/// Adds the streams of the sources, which are opened.
void add_streams(const RunArguments& arguments, Prepared& prepared,
                 std::vector<std::unique_ptr<Source>> sources, const Receivers& to) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string& id = prepared.ids[i];
    auto sinks =
        to.outputs.sinks_of_stream(id, sources.size() > 1, sources[i]->info().frames_per_second);
    if (to.view) sinks.push_back(to.view->sink());
    StreamSettings& own = prepared.streams.at(id);
    StreamConfig config{.id = id,
                        .source = std::move(sources[i]),
                        .sinks = std::move(sinks),
                        .capsules = std::move(own.capsules),
                        .options = std::move(own.options),
                        .config = std::move(own.config)};
    if (arguments.max_frames > 0) config.max_frames = arguments.max_frames;
    arguments.policies.apply_to(config);
    arguments.parts.apply_to(config);
    to.recording.add(config, arguments.sources[i], to.outputs);
    to.streams.add(std::move(config));
  }
}

/// A stream that is added while others run. It has what is set for all streams.
StreamConfig added_stream(const RunArguments& arguments, const Prepared& prepared,
                          RunOutputs& outputs, const std::string& id,
                          std::unique_ptr<Source> source) {
  StreamSettings own =
      settings_of_added_stream(id, prepared.infos, prepared.settings, arguments.streams);
  StreamConfig config{.id = id,
                      .sinks = outputs.sinks_of_stream(id, true, source->info().frames_per_second),
                      .options = std::move(own.options),
                      .config = std::move(own.config)};
  config.source = std::move(source);
  if (arguments.max_frames > 0) config.max_frames = arguments.max_frames;
  arguments.policies.apply_to(config);
  return config;
}

RunFacts facts_of(const RunArguments& arguments, const Prepared& prepared) {
  RunFacts facts{
      .infos = prepared.infos, .options = prepared.settings.options, .streams = prepared.streams};
  for (std::size_t i = 0; i < prepared.ids.size(); ++i)
    facts.sources.emplace(prepared.ids[i], without_password(arguments.sources[i]));
  return facts;
}

/// What a run has made before its pipeline. Borrows.
struct Made {
  const Starting& starting;
  LoadedCapsules& capsules;
  RunOutputs& outputs;
  RunStreams& streams;
};

/// `lost_calls`: whether the process must not end in the usual way.
int run_streams(const RunArguments& arguments, Prepared& prepared, const Made& made,
                bool& lost_calls) {
  const Starting& starting = made.starting;
  LoadedCapsules& capsules = made.capsules;
  RunOutputs& outputs = made.outputs;
  RunStreams& streams = made.streams;
  const Pipeline::Settings settings{.frames_in_flight = arguments.policies.frames_in_flight,
                                    .quarantine = arguments.policies.quarantine_of_all,
                                    .max_concurrent_calls = prepared.settings.max_calls,
                                    .unfit = prepared.unfit,
                                    .outputs = arguments.policies.outputs,
                                    .trace = outputs.trace(),
                                    .can_give_up_calls = true};
  Pipeline pipeline(capsules.all(), settings);
  RunRecording recording(arguments, prepared.settings, capsules, settings);
  const auto metrics = offer_metrics(arguments, pipeline, outputs);
  const auto view = offer_view(
      {.arguments = arguments,
       .settings = prepared.settings,
       .pipeline = pipeline,
       .streams = streams,
       .make_stream =
           [&](const std::string& id, std::unique_ptr<Source> source) {
             return added_stream(arguments, prepared, outputs, id, std::move(source));
           },
       .make_annotator = [&](const std::string& id) { return outputs.annotator_of(id); }});
  const RunFacts facts = facts_of(arguments, prepared);
  if (outputs.report()) outputs.report()->describe(pipeline, facts, streams);
  add_streams(arguments, prepared, open_sources(arguments, starting),
              {outputs, streams, recording, view.get()});
  name_unfinished(outputs, starting.stop);
  streams.run(pipeline, starting.stop,
              {.grace = starting.grace,
               .leave = [&] { leave_streams(pipeline, capsules, streams, outputs); },
               .stays = arguments.view.can_add_sources()});
  lost_calls = has_lost_calls(pipeline);
  const int exit_code = code_of_end(report_failures(streams), streams);
  if (outputs.report()) outputs.report()->describe(pipeline, facts, streams);
  finish_outputs(outputs, streams, exit_code);
  name_unfinished(outputs, starting.stop);
  if (exit_code == kForeignExit) leave_now(exit_code);  // its thread never returns
  capsules.begin_end("the end of streams and metrics");
  return exit_code;
}

OutputPaths outputs_of(const RunArguments& arguments, const Prepared& prepared) {
  OutputPaths outputs = arguments.outputs;
  outputs.sources_repeat = arguments.range.loop != 1;
  outputs.inputs = arguments.capsules;
  for (const CapsuleInfo& info : prepared.infos) outputs.capsules.push_back(info.name);
  return outputs;
}

/// `lost_calls`: as above.
int run(const RunArguments& arguments, bool& lost_calls) {
  Prepared prepared = prepare(arguments);
  StopSignal stop;  // from here on, because outputs are unfinished if the process is killed
  RunOutputs outputs(outputs_of(arguments, prepared), arguments.sources);
  RunStreams streams;  // outlives the pipeline, which writes to it
  const FinishAtForeignExit finish([&] {
    if (streams.frames() == 0) return outputs.drop_empty();
    outputs.finish("ended by a capsule, after " + counted(streams.frames(), "record") + "\n");
  });
  name_unfinished(outputs, stop);
  const Starting starting{.stop = stop, .grace = arguments.policies.grace_time(), .drop = [&] {
                            outputs.drop_empty();
                          }};
  LoadedCapsules capsules(starting.grace);  // destroyed after all that uses them
  try {
    load_all({arguments.capsules, prepared.infos, prepared.settings, prepared.access}, capsules,
             starting);
    return run_streams(arguments, prepared, {starting, capsules, outputs, streams}, lost_calls);
  } catch (const std::exception& error) {
    // Now, because a capsule may hang when it is closed.
    Console::shared().line(std::string("vcap: ") + error.what());
    outputs.drop_empty();
    return exit_code_of(error);
  }
}

int run(const RunArguments& arguments) {
  bool lost_calls = false;
  const int exit_code = arguments.bulk.given()
                            ? run_bulk(arguments.bulk,
                                       {.capsules = arguments.capsules,
                                        .sources = arguments.sources,
                                        .options = arguments.options,
                                        .configs = arguments.configs,
                                        .stencils = arguments.stencils,
                                        .invalid_output = arguments.policies.outputs.invalid,
                                        .max_pixels = arguments.range.max_pixels,
                                        .max_frames = arguments.max_frames,
                                        .video = arguments.outputs.video,
                                        .picture = arguments.outputs.picture,
                                        .draw = arguments.outputs.draw,
                                        .report = arguments.outputs.report},
                                       arguments.load_options(),
                                       {.call = arguments.policies.deadline,
                                        .first_call = arguments.policies.first_call_deadline()},
                                       arguments.policies.grace_time(), lost_calls)
                            : run(arguments, lost_calls);
  return end_with(exit_code, lost_calls);
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Runs capsules on videos, webcams and streams");
  arguments->add_to(*command);
  command->footer(std::string(kHelp) + "\n" + kExitCodesHelp);
  command->callback([arguments, command, &chosen] {
    arguments->finish(*command);
    chosen = [arguments] { return run(*arguments); };
  });
}

}  // namespace vcap::cli
