// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/eval_arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/help_groups.hpp"
#include "cli/record_files.hpp"
#include "cli/run_arguments.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

/// Reads "CAPSULE.NAME=VALUE", or with a stream "STREAM:CAPSULE.NAME=VALUE". A stream's name may
/// contain colons and dots; the names of capsules and options may not.
ReplayOption parse_replay_option(const std::string& text, bool has_stream) {
  const std::size_t equals = text.find('=');
  const std::string whose = text.substr(0, equals);
  const std::size_t colon = has_stream ? whose.rfind(':') : std::string::npos;
  const std::size_t begin = has_stream ? colon + 1 : 0;
  const std::size_t dot = whose.find('.', begin);
  if (equals == std::string::npos || dot == std::string::npos ||
      (has_stream && colon == std::string::npos))
    throw UsageError(has_stream ? "--stream-option " + text + ": write stream:capsule.name=value"
                                : "--option " + text + ": write capsule.name=value");
  return {.stream = has_stream ? whose.substr(0, colon) : std::string(),
          .capsule = whose.substr(begin, dot - begin),
          .option = whose.substr(dot + 1),
          .value = text.substr(equals + 1)};
}

/// Of "[STREAM=]PATH". A path that exists is taken literally.
std::pair<std::string, std::string> split_stream(const std::string& text) {
  std::error_code unknown;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || std::filesystem::exists(text, unknown)) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void add_replay_inputs(CLI::App& command, ReplayArguments& arguments) {
  const auto repeated = [&command](const char* name, std::vector<std::string>& values,
                                   const char* help, const char* type) {
    command.add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  command
      .add_option("INPUT", arguments.input,
                  "The recording, as vcap run --record has made it; or objects in a file or folder "
                  "of JSON lines, COCO, MOT, YOLO, CSV or VOC")
      ->required()
      ->type_name("PATH");
  command
      .add_option("--from", arguments.from,
                  "Runs only the capsules that come after this one in the plan")
      ->type_name("CAPSULE");
  repeated("--stream", arguments.streams,
           "Replays only this stream of the recording; may be repeated", "ID");
  repeated("--capsule", arguments.capsules,
           "Takes this file for the recorded capsule of its name, or adds a capsule; may be "
           "repeated",
           "PATH");
  repeated("--source", arguments.sources,
           "Where the file of a stream is now; of objects, the source of their frames",
           "[STREAM=]PATH");
  command.add_flag("--accept-changed", arguments.accept_changed,
                   "Goes on with sources and capsules that are not the recorded files");
  group_new_options(command, "Recording");
  repeated("--objects", arguments.objects,
           "With --from: objects of a file, in place of the recorded results of a stream",
           "[STREAM=]PATH");
  repeated("--name", arguments.names,
           "Takes only objects of a file with the name CATEGORY, and calls them NAME; may be "
           "repeated (default: all)",
           "NAME[=CATEGORY]");
  add_read_options(command, "--format", arguments.read);
  group_new_options(command, "Objects of other programs");
  repeated("--option", arguments.options,
           "Sets an option of a capsule, in place of its recorded values", "CAPSULE.NAME=VALUE");
  repeated("--stream-option", arguments.stream_options,
           "Sets an option of a capsule for one stream only", "STREAM:CAPSULE.NAME=VALUE");
  repeated("--config", arguments.configs,
           "The config that a capsule gets when it is loaded, in place of the recorded one",
           "CAPSULE=JSON|@FILE");
  repeated("--stream-config", arguments.stream_configs,
           "The config of a stream in a capsule, in place of the recorded one; without STREAM, "
           "for all streams that have no config of their own here",
           "[STREAM:]CAPSULE=JSON|@FILE");
  group_new_options(command, "Settings of capsules");
}

}  // namespace

void ReplayArguments::add_to(CLI::App& command) {
  add_replay_inputs(command, *this);
  add_output_options(command, outputs);
  group_new_options(command, "Outputs");
  command.add_option("--max-frames", max_frames, "Ends each stream after that many frames")
      ->type_name("N")
      ->check(
          CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()).description(""));
  command
      .add_option("--grace", grace,
                  "After a stop, and while capsules are closed: what has not returned after this "
                  "time is given up and named, and the exit code is 9 (default 10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0));
  group_new_options(command, "Frames and end");
  add_access_options(command, access);
  group_new_options(command, "Signatures and keys");
  resources.add_to(command, "--resource-cache");
  group_new_options(command, "Resources of capsules");
}

bool ReplayArguments::is_recording() const {
  std::error_code unknown;
  return std::filesystem::exists(std::filesystem::path(input) / "recording.json", unknown) &&
         (!read.format || !objects.empty());
}

Replay ReplayArguments::open() const {
  namespace fs = std::filesystem;
  std::error_code unknown;
  if (!fs::exists(input, unknown))
    throw SourceError(ErrorCode::source_open,
                      input + " does not exist; give a recording, or a file of objects");
  if (is_recording()) {
    check_recording();
    return Replay(input, settings());
  }
  if (!read.format && fs::is_directory(input, unknown) && !guess_record_format(input))
    throw SourceError(ErrorCode::source_open,
                      "folder " + input +
                          " is neither a recording, since it has no recording.json, nor do its "
                          "files show a format of objects; give the format (--format)");
  check_no_recording();
  return Replay::of_objects(objects_file(input), settings());
}

std::vector<std::string> ReplayArguments::inputs() const {
  std::vector<std::string> paths = capsules;
  if (!is_recording()) paths.push_back(input);
  for (const std::string& text : objects) paths.push_back(split_stream(text).second);
  return paths;
}

void ReplayArguments::check_recording() const {
  const auto refuse = [this](bool is_given, const char* option) {
    if (is_given && objects.empty())
      throw UsageError(
          std::string(option) + ": " + input +
          " is a recording, and this is for files of objects; give one (--objects), or "
          "leave it out");
  };
  refuse(!names.empty(), "--name");
  refuse(read.format.has_value(), "--format");
  refuse(!read.frame_size.empty(), "--frame-size");
  refuse(read.first_frame != 0, "--first-frame");
}

void ReplayArguments::check_no_recording() const {
  const auto refuse = [this](bool is_given, const char* option) {
    if (is_given)
      throw UsageError(std::string(option) + ": " + input +
                       " is a file of objects, and this is for recordings; leave it out");
  };
  refuse(!from.empty(), "--from");
  refuse(accept_changed, "--accept-changed");
  refuse(!objects.empty(), "--objects");
}

ReplaySettings ReplayArguments::settings() const {
  ReplaySettings settings{
      .from = from, .accept_changed = accept_changed, .options = read_options()};
  const auto put = [this](auto& values, const char* option, const std::string& text, auto make) {
    const auto [stream, path] = split_stream(text);
    if (!stream.empty() && !streams.empty() && std::ranges::find(streams, stream) == streams.end())
      throw UsageError(std::string(option) + " " + text + ": stream " + quote(stream) +
                       " is not replayed; leave it out, or add --stream " + stream);
    if (!values.emplace(stream, make(path)).second)
      throw UsageError(std::string(option) + " " + text + ": the stream has one already; give one");
  };
  for (const std::string& text : sources) {
    if (is_recording() && split_stream(text).first.empty())
      throw UsageError("--source " + text + ": write STREAM=PATH, with the id of the stream");
    put(settings.sources, "--source", text, [](std::string path) { return path; });
  }
  for (const std::string& text : objects)
    put(settings.objects, "--objects", text,
        [this](const std::string& path) { return objects_file(path); });
  return settings;
}

ObjectsFile ReplayArguments::objects_file(const std::string& path) const {
  ObjectsFile file{.path = path, .read = read};
  for (const EvalName& name : read_names(names)) file.names.emplace(name.truth, name.found);
  return file;
}

std::vector<ReplayOption> ReplayArguments::read_options() const {
  std::vector<ReplayOption> parsed;
  for (const std::string& text : options) parsed.push_back(parse_replay_option(text, false));
  for (const std::string& text : stream_options) parsed.push_back(parse_replay_option(text, true));
  return parsed;
}

void ReplayArguments::check_options(const std::vector<CapsuleInfo>& running,
                                    const std::set<std::string>& stand_ins) const {
  for (const ReplayOption& one : read_options()) {
    const std::string argument = "option " + one.capsule + "." + one.option;
    if (stand_ins.contains(one.capsule))
      throw UsageError(argument + ": capsule " + one.capsule +
                       " does not run, so its options have no effect; leave it out");
    const auto found = std::ranges::find(running, one.capsule, &CapsuleInfo::name);
    if (found == running.end()) {
      std::vector<std::string> known;
      known.reserve(running.size());
      for (const CapsuleInfo& info : running) known.push_back(info.name);
      throw UsageError(argument + ": no capsule " + quote(one.capsule) + " runs" +
                       suggestion(one.capsule, known) + "; these run: " + quote_list(known));
    }
    OptionValues(found->options, "capsule " + found->name)
        .set_from_text(one.option, std::get<std::string>(one.value));
  }
}

LoadOptions ReplayArguments::load_options() const {
  LoadOptions loading = read_access(access);
  loading.resources = resources.options();
  return loading;
}

std::chrono::nanoseconds ReplayArguments::grace_time() const {
  return std::chrono::nanoseconds(std::llround(grace * 1e9));
}

}  // namespace vcap::cli
