// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/help_groups.hpp"
#include "cli/run_arguments.hpp"

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

void add_replay_inputs(CLI::App& command, ReplayArguments& arguments) {
  const auto repeated = [&command](const char* name, std::vector<std::string>& values,
                                   const char* help, const char* type) {
    command.add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  command.add_option("FOLDER", arguments.folder, "The recording, as vcap run --record has made it")
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
  repeated("--source", arguments.sources, "Where the file of a stream is now", "STREAM=PATH");
  command.add_flag("--accept-changed", arguments.accept_changed,
                   "Goes on with sources and capsules that are not the recorded files");
  group_new_options(command, "Recording");
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

ReplaySettings ReplayArguments::settings() const {
  ReplaySettings settings{.from = from, .accept_changed = accept_changed};
  for (const std::string& text : sources) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw UsageError("--source " + text + ": write STREAM=PATH, with the id of the stream");
    settings.sources[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const std::string& text : options)
    settings.options.push_back(parse_replay_option(text, false));
  for (const std::string& text : stream_options)
    settings.options.push_back(parse_replay_option(text, true));
  return settings;
}

void ReplayArguments::check_options(const std::vector<CapsuleInfo>& running,
                                    const std::set<std::string>& stand_ins) const {
  for (const ReplayOption& one : settings().options) {
    const std::string argument = "option " + one.capsule + "." + one.option;
    if (stand_ins.contains(one.capsule))
      throw UsageError(argument + ": with --from " + from + ", the recorded results of capsule " +
                       one.capsule + " are used, so its options have no effect; leave it out");
    const auto found = std::ranges::find(running, one.capsule, &CapsuleInfo::name);
    if (found == running.end()) {
      std::vector<std::string> names;
      names.reserve(running.size());
      for (const CapsuleInfo& info : running) names.push_back(info.name);
      throw UsageError(argument + ": no capsule " + quote(one.capsule) + " runs" +
                       suggestion(one.capsule, names) + "; these run: " + quote_list(names));
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
