// SPDX-License-Identifier: Apache-2.0
#include "cli/run_arguments.hpp"

#include <cstddef>
#include <limits>

#include "cli/help_groups.hpp"
#include "cli/positionals.hpp"
#include "cli/video_options.hpp"

namespace vcap::cli {
namespace {

/// What runs, on which sources, and with which settings.
void add_capsule_options(CLI::App& command, RunArguments& arguments) {
  const auto repeated = [&command](const char* name, std::vector<std::string>& values,
                                   const char* help, const char* type) {
    return command.add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  command
      .add_option("INPUT", arguments.positionals,
                  "Capsules and sources in any order; a name that ends in .cap is a capsule")
      ->type_name("CAPSULE.cap|SOURCE");
  repeated("--capsule", arguments.capsules,
           "A capsule, whatever its name; may be repeated, in any order", "PATH");
  repeated("--source", arguments.sources,
           "A source of frames, which becomes a stream; may be repeated", "SOURCE");
  group_new_options(command, "Capsules and sources");
  arguments.bulk.add_to(command);
  group_new_options(command, "Jobs of many videos");
  repeated("--option", arguments.options, "Sets an option of a capsule", "CAPSULE.NAME=VALUE");
  repeated("--config", arguments.configs, "The config that a capsule gets when it is loaded",
           "CAPSULE=JSON|@FILE");
  repeated("--stencil", arguments.stencils,
           "Which frames a capsule with a stencil sees together, in place of its own offsets",
           "CAPSULE=OFFSET,OFFSET[:EDGE]");
  repeated("--max-calls", arguments.max_calls,
           "How many calls of a capsule may be in progress at once, over all streams; 0: no bound",
           "CAPSULE=N");
  repeated("--stream-option", arguments.streams.options,
           "Sets an option of a capsule for one stream only", "STREAM:CAPSULE.NAME=VALUE");
  repeated("--stream-config", arguments.streams.configs,
           "The config of a stream in a capsule; without STREAM, for all streams that have no "
           "config of their own",
           "[STREAM:]CAPSULE=JSON|@FILE");
  repeated("--stream-capsules", arguments.streams.capsules,
           "Sends a stream only through these capsules", "STREAM=CAPSULE,CAPSULE");
  command.add_flag("--leave-out", arguments.leave_out,
                   "Leaves out capsules that cannot run with the others, and says why");
  group_new_options(command, "Settings of capsules");
}

void add_clip_options(CLI::App& command, OutputPaths& outputs, CLI::Option* log) {
  CLI::Option* const clips =
      command
          .add_option("--event-clips", outputs.event_clips,
                      "Writes a clip of each event into this folder: cut from the source without "
                      "encoding if it is a video file, else encoded as MP4")
          ->type_name("FOLDER")
          ->needs(log);
  const auto seconds = [&](const char* name, double& value, double least, const char* help) {
    command.add_option(name, value, help)
        ->type_name("SECONDS")
        ->check(CLI::Range(least, 86400.0))
        ->capture_default_str()
        ->needs(clips);
  };
  seconds("--event-pre-roll", outputs.event_pre_roll, 0,
          "How much before its begin the clip of an event shows");
  seconds("--event-post-roll", outputs.event_post_roll, 0,
          "How much after its end the clip of an event shows");
  seconds("--event-longest-clip", outputs.event_longest, 0.001,
          "The most that the clip of an event shows, from its pre-roll on; the rest is cut off");
}

void add_event_options(CLI::App& command, OutputPaths& outputs) {
  CLI::Option* const events =
      command
          .add_option("--events", outputs.events,
                      "Finds events by the rules of this JSON file, for one stream or for all that "
                      "have no rules of their own; needs --event-log; may be repeated")
          ->type_name("[STREAM=]PATH")
          ->allow_extra_args(false);
  CLI::Option* const log =
      command
          .add_option("--event-log", outputs.event_log,
                      "Appends the begin and end of each event to this file, one JSON object a "
                      "line. What an earlier run left open is ended first, as interrupted")
          ->type_name("PATH")
          ->needs(events);
  events->needs(log);
  command
      .add_option("--event-snapshots", outputs.event_snapshots,
                  "Writes a JPEG of the frame in which each event begins into this folder")
      ->type_name("FOLDER")
      ->needs(log);
  add_clip_options(command, outputs, log);
  group_new_options(command, "Outputs");
  outputs.publish.add_to(command, events);
  group_new_options(command, "Messages to brokers and servers");
}

void add_record_options(CLI::App& command, OutputPaths& outputs) {
  command
      .add_option("--record", outputs.record,
                  "Records the run into this new folder, so that vcap replay can run it again, or "
                  "only what comes after a capsule")
      ->type_name("FOLDER");
  command.add_flag("--record-copies", outputs.record_copies,
                   "The recording holds the pictures and capsules even of stored files, so that "
                   "it can be moved");
}

void add_metrics_options(CLI::App& command, RunArguments& arguments) {
  command
      .add_option("--metrics", arguments.metrics,
                  "Serves metrics of streams, capsules, devices and publishers for Prometheus, at "
                  "http://HOST:PORT/metrics, without a password; default HOST: 127.0.0.1; port 0: "
                  "any free port")
      ->type_name("HOST:PORT");
  command
      .add_option("--metrics-connections", arguments.metrics_limits.connections,
                  "The most connections to --metrics at a time")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
      ->capture_default_str();
  command
      .add_option("--metrics-connections-per-address", arguments.metrics_limits.per_address,
                  "The same for each IP address; give more if all scrapers are behind one proxy")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
      ->capture_default_str();
}

}  // namespace

void add_output_options(CLI::App& command, OutputPaths& outputs) {
  const auto path = [&command](const char* name, std::string& value, const char* help) {
    command.add_option(name, value, help)->type_name("PATH");
  };
  path("--jsonl", outputs.jsonl,
       "Writes one JSON record per frame and line; \"-\" is standard output");
  command.add_flag("--frame-lines", outputs.frame_lines,
                   "Writes a line for each frame to standard output: stream, frame, time, the "
                   "number of objects by name, errors");
  command
      .add_option(
          "--export", outputs.exports,
          "Writes the records in another format too: coco, mot, yolo, yolo-seg, voc, csv, "
          "crops or jsonl; may be repeated. mot holds one stream: with several sources, one "
          "output for each, NAME-STREAM")
      ->type_name("FORMAT:PATH")
      ->allow_extra_args(false);
  outputs.export_as.add_to(command);
  path("--video", outputs.video,
       "Writes the frames with the results drawn on them, as .mp4, .mkv or .avi; with several "
       "sources, one clip for each, NAME-STREAM.EXTENSION; with --out, give .mp4, and the clips "
       "are NAME.mp4 in that folder");
  add_video_options(command, outputs);
  add_event_options(command, outputs);
  path("--report", outputs.report,
       "Writes a report of the run as one HTML file: what ran, objects over time, tracks with "
       "thumbnails, events, rates, latencies, drops, errors");
  path("--summary", outputs.summary, "Also writes the summary to this file");
  path("--trace", outputs.trace,
       "Writes a trace of the time that frames took, for https://ui.perfetto.dev");
  command
      .add_option_function<std::string>(
          "--when-output-fails",
          [&outputs](const std::string& what) {
            if (what == "skip") outputs.failure = SinkFailurePolicy::skip;
          },
          "If --jsonl, --video, --export or --event-log cannot be written: end (the default) ends "
          "the streams that write "
          "there; skip continues without the lost records, and counts them in the summary")
      ->type_name("end|skip")
      ->check(CLI::IsMember({"end", "skip"}).description(""));
  command
      .add_option_function<std::string>(
          "--when-output-slow",
          [&outputs](const std::string& what) {
            if (what == "drop") outputs.when_slow = SinkOverflowPolicy::drop_oldest;
          },
          "If --jsonl, --video, --export or --event-log is slower than the streams, or hangs: wait "
          "(the default) makes the streams wait; drop drops the oldest if more than 64 records "
          "wait, and counts the drops "
          "in the summary")
      ->type_name("wait|drop")
      ->check(CLI::IsMember({"wait", "drop"}).description(""));
}

void RunArguments::add_to(CLI::App& command) {
  add_capsule_options(command, *this);
  add_output_options(command, outputs);
  add_record_options(command, outputs);
  group_new_options(command, "Outputs");
  range.add_to(command);
  parts.add_to(command);
  command
      .add_option("--max-frames", max_frames,
                  "Ends each stream or video of a job after that many frames")
      ->type_name("N")
      ->check(
          CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()).description(""));
  group_new_options(command, "Frames of sources");
  policies.add_to(command);
  group_new_options(command, "Failures and load");
  add_metrics_options(command, *this);
  group_new_options(command, "Metrics");
  view.add_to(command);
  command.get_option("--draw")->remove_needs(command.get_option("--video"));  // see finish()
  group_new_options(command, "Live view");
  add_access_options(command, access);
  group_new_options(command, "Signatures and keys");
  resources.add_to(command, "--resource-cache");
  group_new_options(command, "Resources of capsules");
}

void RunArguments::finish(const CLI::App& command) {
  sort_positionals(positionals, capsules, sources);
  // `vcap run --cluster URL JOB.json`
  if (bulk.cluster.given() && bulk.job.empty() && capsules.empty() && sources.size() == 1 &&
      sources.front().ends_with(".json")) {
    bulk.job = std::move(sources.front());
    sources.clear();
    bulk.is_positional = true;
  }
  if (bulk.cluster.given() && !bulk.given())
    throw CLI::RequiredError("with --cluster, a job (JOB.json, --job or --out)");
  if (bulk.given()) bulk.check(command);
  if (!bulk.job.empty()) return;
  if (capsules.empty()) throw CLI::RequiredError("a capsule (CAPSULE.cap or --capsule PATH)");
  if (sources.empty()) throw CLI::RequiredError("a source (SOURCE or --source SOURCE)");
  if (!outputs.draw.empty() && outputs.video.empty() && view.address.empty())
    throw CLI::RequiresError("--draw", "--video or --view");
}

LoadOptions RunArguments::load_options() const {
  LoadOptions load = read_access(access);
  load.resources = resources.options();
  return load;
}

}  // namespace vcap::cli
