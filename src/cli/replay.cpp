// SPDX-License-Identifier: Apache-2.0
// Runs a recording once more.
#include "vcap/pipeline/replay.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
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
#include "cli/loaded_capsules.hpp"
#include "cli/replay_arguments.hpp"
#include "cli/run_ending.hpp"
#include "cli/run_outputs.hpp"
#include "cli/run_report.hpp"
#include "cli/run_streams.hpp"
#include "cli/start_step.hpp"
#include "cli/stop_signal.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap::cli {
namespace {

constexpr const char* kReplayHelp =
    "A recording is what vcap run --record has made. With the same capsules and options, the "
    "records are the same, byte for byte. With --from, only the capsules after that one run: its "
    "recorded results, and those of the capsules before it in the plan, stand in for them, and "
    "their files are not needed.\n"
    "Objects of another program, such as the detections of a data set, stand in with --objects; "
    "or, without a recording, as INPUT, with --source for their frames and --capsule for what "
    "runs on them. They belong to frames by index, or to images by name.\n"
    "A source or capsule that is missing, or is not the recorded file, is refused by name (exit "
    "code 6). Frames that the recording has lost are drops with the reason not_recorded.";

/// A capsule of the replay, in the order of the pipeline.
struct ReplayCapsule {
  CapsuleInfo info{};
  std::string path{};  ///< empty: it stands in
  LoadOptions options{};
};

/// What is read and checked before any capsule's code runs.
struct PreparedReplay {
  std::vector<ReplayCapsule> capsules{};
  CapsuleSettings settings{};
  std::vector<std::string> ids{};  ///< of the streams
  std::map<std::string, StreamSettings> streams{};
};

/// The capsules of --capsule by their names. Throws UsageError if two have the same name.
std::map<std::string, ReplayCapsule> read_given(const std::vector<std::string>& paths,
                                                const LoadOptions& access) {
  std::map<std::string, ReplayCapsule> given;
  for (const std::string& path : paths) {
    CapsuleInfo info = read_manifest(path, access).info;
    const std::string name = info.name;
    if (!given.emplace(name, ReplayCapsule{std::move(info), path, access}).second)
      throw UsageError("--capsule " + path + ": capsule " + name + " is given twice; give it once");
  }
  return given;
}

/// Says so if a given file is not the recorded one.
void compare(const RecordedCapsule& recorded, const ReplayCapsule& given) {
  if (!recorded.file) return;
  const RecordedFile file = describe_file(given.path);
  if (file.sha256 == recorded.file->sha256) return;
  Console::shared().line("vcap: capsule " + recorded.name + ": " + given.path + " (version " +
                         std::to_string(given.info.version) + ", SHA-256 " + file.sha256 +
                         ") runs in place of the recorded file (version " +
                         std::to_string(recorded.version) + ", " + recorded.file->sha256 + ")");
}

/// Those of the recording, each from its file or the given one; then given ones that it lacks.
std::vector<ReplayCapsule> choose_capsules(const Replay& replay, const std::string& from,
                                           std::map<std::string, ReplayCapsule> given,
                                           const LoadOptions& access) {
  std::vector<ReplayCapsule> chosen;
  for (const RecordedCapsule& recorded : replay.manifest().capsules) {
    const auto own = given.find(recorded.name);
    if (replay.stand_ins().contains(recorded.name)) {
      if (own != given.end())
        throw UsageError("--capsule " + own->second.path + ": " +
                         (from.empty()
                              ? "the name " + recorded.name +
                                    " stands for the objects of the input; build the "
                                    "capsule with another name"
                              : "with --from " + from + ", the recorded results of capsule " +
                                    recorded.name +
                                    " are used; leave its file out, or begin at an earlier "
                                    "capsule"));
      chosen.push_back({.info = recorded.info->get<CapsuleInfo>()});
      continue;
    }
    if (own != given.end()) {
      compare(recorded, own->second);
      chosen.push_back(std::move(own->second));
      given.erase(own);
    } else {
      const std::string path = replay.capsule_file(recorded.name);
      chosen.push_back({read_manifest(path, access).info, path, access});
    }
    replay.apply_load_options(recorded.name, chosen.back().options);
  }
  for (auto& [name, capsule] : given) chosen.push_back(std::move(capsule));
  return chosen;
}

std::vector<std::string> choose_streams(const RecordingManifest& manifest,
                                        const std::vector<std::string>& wanted) {
  std::vector<std::string> all;
  for (const RecordedStream& stream : manifest.streams) all.push_back(stream.id);
  for (const std::string& id : wanted)
    if (std::ranges::find(all, id) == all.end())
      throw UsageError("--stream " + id + ": the input has no such stream" + suggestion(id, all) +
                       "; it has " + quote_list(all));
  if (wanted.empty()) return all;
  std::erase_if(
      all, [&](const std::string& id) { return std::ranges::find(wanted, id) == wanted.end(); });
  return all;
}

/// Throws UsageError if the clip would show a picture of a capsule that stands in.
void check_picture(const CapsuleInfo& stand_in, const std::string& picture) {
  if (std::ranges::find(stand_in.gives_pictures, picture, &PictureDescription::name) !=
      stand_in.gives_pictures.end())
    throw UsageError("--picture " + picture + ": capsule " + stand_in.name +
                     " gives it, which does not run, and recordings do not hold pictures of "
                     "capsules; begin before that capsule (--from), or leave the picture out");
}

PreparedReplay prepare_replay(const ReplayArguments& arguments, const Replay& replay) {
  const LoadOptions access = arguments.load_options();
  PreparedReplay prepared;
  prepared.capsules =
      choose_capsules(replay, arguments.from, read_given(arguments.capsules, access), access);
  std::vector<CapsuleInfo> running;
  for (const ReplayCapsule& capsule : prepared.capsules)
    if (capsule.path.empty())
      check_picture(capsule.info, arguments.outputs.picture);
    else
      running.push_back(capsule.info);
  arguments.check_options(running, replay.stand_ins());
  prepared.settings = read_settings(running, {}, arguments.configs);
  for (ReplayCapsule& capsule : prepared.capsules)
    if (const auto own = prepared.settings.config.find(capsule.info.name);
        own != prepared.settings.config.end())
      capsule.options.config = own->second;
  prepared.ids = choose_streams(replay.manifest(), arguments.streams);
  prepared.streams = read_stream_settings(prepared.ids, running, prepared.settings,
                                          {.configs = arguments.stream_configs});
  return prepared;
}

void load_capsules(const Replay& replay, const PreparedReplay& prepared, LoadedCapsules& capsules,
                   const Starting& starting) {
  std::atomic<std::size_t> loaded = 0;
  do_start_step(
      [&] {
        for (; loaded < prepared.capsules.size(); ++loaded) {
          const auto& [info, path, options] = prepared.capsules[loaded];
          capsules.add(path.empty() ? replay.stand_in(info.name) : load_capsule(path, options));
        }
      },
      [&] {
        return "loading capsule " +
               prepared.capsules[std::min(loaded.load(), prepared.capsules.size() - 1)].info.name;
      },
      starting);
  renew_exit_watch();
}

/// Opens the sources and adds the streams.
void add_recorded_streams(const ReplayArguments& arguments, const Replay& replay,
                          PreparedReplay& prepared, const LoadedCapsules& capsules,
                          const Starting& starting, RunOutputs& outputs, RunStreams& streams) {
  std::vector<StreamConfig> configs;
  do_start_step(
      [&] {
        for (const std::string& id : prepared.ids)
          configs.push_back(replay.stream(id, capsules.all(), prepared.streams.at(id).config));
      },
      [] { return std::string("opening the recording"); }, starting);
  for (StreamConfig& config : configs) {
    StreamSettings& own = prepared.streams.at(config.id);
    own.options = config.options;  // for the report
    config.sinks = outputs.sinks_of_stream(config.id, configs.size() > 1,
                                           config.source->info().frames_per_second);
    if (arguments.max_frames > 0) config.max_frames = arguments.max_frames;
    streams.add(std::move(config));
  }
}

/// What a replay has made before its pipeline. Borrows.
struct ReplayParts {
  const Starting& starting;
  LoadedCapsules& capsules;
  RunOutputs& outputs;
  RunStreams& streams;
};

RunFacts facts_of(const Replay& replay, const PreparedReplay& prepared) {
  RunFacts facts{.streams = prepared.streams};
  for (const ReplayCapsule& capsule : prepared.capsules) facts.infos.push_back(capsule.info);
  for (const RecordedStream& stream : replay.manifest().streams)
    facts.sources.emplace(stream.id, stream.file ? stream.file->path : stream.source);
  return facts;
}

int run_replay(const ReplayArguments& arguments, const Replay& replay, PreparedReplay& prepared,
               const ReplayParts& parts, bool& lost_calls) {
  auto& [starting, capsules, outputs, streams] = parts;
  load_capsules(replay, prepared, capsules, starting);
  Pipeline::Settings settings = replay.pipeline_settings();
  settings.trace = outputs.trace();
  settings.can_give_up_calls = true;
  Pipeline pipeline(capsules.all(), settings);
  add_recorded_streams(arguments, replay, prepared, capsules, starting, outputs, streams);
  const RunFacts facts = facts_of(replay, prepared);
  if (outputs.report()) outputs.report()->describe(pipeline, facts, streams);
  name_unfinished(outputs, starting.stop);
  streams.run(pipeline, starting.stop, {.grace = starting.grace, .leave = [&parts, &pipeline] {
                                          leave_streams(pipeline, parts.capsules, parts.streams,
                                                        parts.outputs);
                                        }});
  lost_calls = has_lost_calls(pipeline);
  const int exit_code = code_of_end(report_failures(streams), streams);
  if (outputs.report()) outputs.report()->describe(pipeline, facts, streams);
  finish_outputs(outputs, streams, exit_code);
  name_unfinished(outputs, starting.stop);
  if (exit_code == kForeignExit) leave_now(exit_code);  // its thread never returns
  capsules.begin_end("the end of the replay");
  return exit_code;
}

/// Where the frames of each stream come from, which no output may replace.
std::vector<std::string> sources_of(const Replay& replay, const ReplayArguments& arguments,
                                    const std::vector<std::string>& ids) {
  std::vector<std::string> sources;
  for (const RecordedStream& stream : replay.manifest().streams)
    if (std::ranges::find(ids, stream.id) != ids.end())
      sources.push_back(stream.file ? stream.file->path
                        : arguments.is_recording()
                            ? arguments.input + "/" + stream.folder + "/pictures.ffv1"
                            : stream.source);
  return sources;
}

bool is_looped(const RecordedStream& stream) {
  return (*stream.source_options).value("loop", std::int64_t{1}) != 1;
}

int replay_recording(const ReplayArguments& arguments, bool& lost_calls) {
  const Replay replay = arguments.open();
  PreparedReplay prepared = prepare_replay(arguments, replay);
  StopSignal stop;
  OutputPaths paths = arguments.outputs;
  paths.inputs = arguments.inputs();
  for (const ReplayCapsule& capsule : prepared.capsules)
    if (!capsule.path.empty()) paths.inputs.push_back(capsule.path);
  paths.sources_repeat = std::ranges::any_of(replay.manifest().streams, is_looped);
  for (const ReplayCapsule& capsule : prepared.capsules)
    paths.capsules.push_back(capsule.info.name);
  RunOutputs outputs(std::move(paths), sources_of(replay, arguments, prepared.ids), prepared.ids);
  RunStreams streams;  // outlives the pipeline, which writes to it
  const FinishAtForeignExit finish([&] {
    if (streams.frames() == 0) return outputs.drop_empty();
    outputs.finish("ended by a capsule, after " + counted(streams.frames(), "record") + "\n");
  });
  name_unfinished(outputs, stop);
  const Starting starting{
      .stop = stop, .grace = arguments.grace_time(), .drop = [&] { outputs.drop_empty(); }};
  LoadedCapsules capsules(starting.grace);  // destroyed after all that uses them
  try {
    return run_replay(arguments, replay, prepared, {starting, capsules, outputs, streams},
                      lost_calls);
  } catch (const std::exception& error) {
    // Now, because a capsule may hang when it is closed.
    Console::shared().line(std::string("vcap: ") + error.what());
    outputs.drop_empty();
    return exit_code_of(error);
  }
}

}  // namespace

void add_replay(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand(
      "replay",
      "Runs a recording again, or only the capsules after a given one, or after objects "
      "of another program");
  arguments->add_to(*command);
  command->footer(std::string(kReplayHelp) + "\n" + kExitCodesHelp);
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      bool lost_calls = false;
      const int exit_code = replay_recording(*arguments, lost_calls);
      return end_with(exit_code, lost_calls);
    };
  });
}

}  // namespace vcap::cli
