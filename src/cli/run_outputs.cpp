// SPDX-License-Identifier: Apache-2.0
#include "cli/run_outputs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/frame_lines.hpp"
#include "cli/stream_names.hpp"
#include "vcap/image/make_annotators.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

/// The end of the name of an output that is not complete (OutputFile::Unfinished::kept).
constexpr const char* kPart = ".part";

/// Whether the file is that one, or is in that folder or below.
bool is_within(const fs::path& file, const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) return fs::equivalent(file, path, unknown);
  const fs::path folder = fs::canonical(path, unknown);
  const fs::path below = fs::canonical(file, unknown);
  return !folder.empty() &&
         std::mismatch(folder.begin(), folder.end(), below.begin(), below.end()).first ==
             folder.end();
}

}  // namespace

std::string OutputPaths::drawn_parts() const {
  if (!draw.empty()) return draw;
  return (events.empty() ? "" : "zones,") + std::string(kDefaultAnnotators);
}

RunOutputs::RunOutputs(OutputPaths paths, std::vector<std::string> sources,
                       std::vector<std::string> streams)
    : paths_(std::move(paths)),
      sources_(std::move(sources)),
      streams_(streams.empty() ? stream_ids(sources_) : std::move(streams)),
      rules_(read_rules(paths_.events, streams_)) {
  if (paths_.events.empty() && draws_zones(paths_.draw))
    throw UsageError("--draw " + paths_.draw +
                     ": zones and lines are those of event rules, and there are none; give them "
                     "by --events RULES, or leave the part \"zones\" out");
  check_drawn_zones(paths_.draw, rules_);
  if (!paths_.summary.empty()) {
    claim(paths_.summary);
    summary_.emplace(paths_.summary, OutputFile::Target::any, OutputFile::Unfinished::kept);
  }
  if (!paths_.jsonl.empty()) {
    claim(paths_.jsonl);
    jsonl_ = add_sink(paths_.jsonl, make_json_lines_sink(paths_.jsonl));
  }
  open_exports();
  if (paths_.frame_lines) {
    if (uses_standard_output())
      throw UsageError(
          "--frame-lines writes to standard output, and so does an output with the name \"-\"; "
          "give that output a file");
    shared_.push_back(add_sink("standard output", make_frame_lines_sink()));
  }
  if (!paths_.trace.empty()) {
    claim(paths_.trace);
    trace_ = std::make_shared<Trace>(paths_.trace);
  }
  open_events();
  open_frame_publishers();
  if (!paths_.report.empty()) {
    claim(paths_.report);
    report_ = std::make_unique<RunReport>(
        paths_.report,
        RunReport::EventPaths{paths_.event_log, paths_.event_snapshots, paths_.event_clips});
    shared_.push_back(report_->sink());
  }
  // The clip's file is made with its stream, when its frame rate is known; a wrong folder, codec or
  // quality is found now. A capsule may change the working directory before.
  if (paths_.video.empty()) return;
  paths_.video = fs::absolute(paths_.video).string();
  std::error_code unknown;
  if (sources_.size() == 1)
    check_free(paths_.video);
  else if (fs::exists(paths_.video + kPart, unknown))
    return;  // not of this run, whose clips have names of their own; it would be moved aside
  make_video_sink(paths_.video, "", 0);
}

/// An export of one stream is made with its stream, under a path that does not depend on the
/// working directory, which a capsule may change.
void RunOutputs::open_exports() {
  for (const std::string& text : paths_.exports) {
    ExportOutput output = parse_export(text);
    const bool is_shared = !output.is_per_stream() || sources_.size() == 1;
    if (is_shared) {
      claim(output.path);
      shared_.push_back(
          add_sink(output.path, paths_.export_as.make_sink(output.format, output.path)));
    } else {
      if (output.path == "-")
        throw UsageError("--export " + text +
                         ": there are several sources, and each needs an output of its own; give a "
                         "path");
      output.path = fs::absolute(output.path).string();
      per_stream_.push_back(std::move(output));
    }
  }
}

/// Clips are cut from sources that are files, under paths that do not depend on the working
/// directory.
EventClipSettings RunOutputs::event_clips() const {
  const auto seconds = [](double time) {
    return std::chrono::nanoseconds(std::llround(time * 1e9));
  };
  EventClipSettings clips{.folder = paths_.event_clips,
                          .pre_roll = seconds(paths_.event_pre_roll),
                          .post_roll = seconds(paths_.event_post_roll),
                          .longest = seconds(paths_.event_longest)};
  std::error_code unknown;
  for (std::size_t i = 0; i < sources_.size() && !paths_.sources_repeat; ++i)
    if (fs::is_regular_file(sources_[i], unknown))
      clips.files.emplace(streams_.at(i), fs::absolute(sources_[i]).string());
  return clips;
}

void RunOutputs::open_events() {
  if (paths_.event_log.empty()) return;
  claim(paths_.event_log);
  publishers_ = paths_.publish.open_events(paths_.capsules);
  EventSinkSettings settings{.rules_of_stream = rules_.of_stream,
                             .snapshots = paths_.event_snapshots,
                             .clips = event_clips()};
  for (const NamedPublisher& one : publishers_) settings.publishers.push_back(one.publisher);
  shared_.push_back(
      add_sink(paths_.event_log,
               make_event_sink(paths_.event_log, rules_.for_all.value_or(EventRules()), settings)));
}

void RunOutputs::open_frame_publishers() {
  for (NamedPublisher& one : paths_.publish.open_frames(paths_.capsules)) {
    shared_.push_back(add_sink(one.name, make_publishing_sink(one.publisher)));
    publishers_.push_back(std::move(one));
  }
}

MetricsServer::Publishers RunOutputs::publishers() const {
  MetricsServer::Publishers publishers;
  for (const NamedPublisher& one : publishers_) {
    std::string name = one.name_in_metrics;
    for (int number = 2; publishers.contains(name); ++number)
      name = one.name_in_metrics + " (" + std::to_string(number) + ')';
    publishers.emplace(std::move(name), one.publisher);
  }
  return publishers;
}

/// All at a time, so that the end waits as long as the slowest.
void RunOutputs::end_publishers() {
  for (const NamedPublisher& one : publishers_) one.publisher->begin_close();
  for (const NamedPublisher& one : publishers_) one.publisher->close();
}

/// Throws UsageError if it would replace a source or another output.
void RunOutputs::check_free(const std::string& path) const {
  std::error_code unknown;
  for (const std::string& input : paths_.inputs)
    for (const std::string& written : {path, path + kPart})
      if (fs::is_regular_file(written, unknown) && is_within(written, input))
        throw UsageError("output " + path + " would replace " + written +
                         ", which is read; give another name");
  for (const std::string& source : sources_) {
    if (fs::is_regular_file(path, unknown) && fs::equivalent(path, source, unknown))
      throw UsageError("output " + path + " is the source " + source +
                       " and would replace it; give another name");
    if (fs::is_regular_file(path + kPart, unknown) && fs::equivalent(path + kPart, source, unknown))
      throw UsageError("output " + path + " is written as " + path + kPart +
                       " until it is complete, which is the source " + source +
                       "; give another name, or rename the source");
  }
  if (fs::exists(path, unknown) && !fs::is_regular_file(path, unknown)) return;  // may be shared
  const std::string name = fs::absolute(path).lexically_normal().string();
  for (const std::string& other : names_) {
    if (name == other)
      throw UsageError("output " + path + " is given twice; give each output its own name");
    if (name == other + kPart || name + kPart == other)
      throw UsageError("output " + path + " and another output differ only by " + kPart +
                       ", the end of the names of unfinished outputs; give another name");
  }
}

void RunOutputs::claim(const std::string& path) {
  check_free(path);
  names_.push_back(fs::absolute(path).lexically_normal().string());
}

std::vector<std::shared_ptr<Sink>> RunOutputs::sinks_of_stream(const std::string& stream_id,
                                                               bool one_of_several,
                                                               double frames_per_second) {
  const MutexLock lock(finishing_);
  std::vector<std::shared_ptr<Sink>> sinks;
  if (finished_) return sinks;
  if (jsonl_) sinks.push_back(jsonl_);
  sinks.insert(sinks.end(), shared_.begin(), shared_.end());
  for (const ExportOutput& output : per_stream_) {
    const std::string path = output_of_stream(output.path, stream_id).string();
    claim(path);
    sinks.push_back(add_sink(path, paths_.export_as.make_sink(output.format, path)));
  }
  if (!paths_.video.empty()) {
    const fs::path path =
        one_of_several ? output_of_stream(paths_.video, stream_id) : fs::path(paths_.video);
    claim(path.string());
    sinks.push_back(
        add_sink(path.string(), make_video_sink(path.string(), stream_id, frames_per_second)));
  }
  return sinks;
}

std::unique_ptr<Annotator> RunOutputs::annotator_of(const std::string& stream_id) const {
  return make_annotators(paths_.drawn_parts(), {}, rules_.zones_of(stream_id));
}

std::unique_ptr<Sink> RunOutputs::make_video_sink(const std::string& path,
                                                  const std::string& stream_id,
                                                  double frames_per_second) const {
  if (paths_.picture.empty())
    return make_annotated_video_sink(path, frames_per_second, paths_.encoding,
                                     annotator_of(stream_id));
  return make_picture_video_sink(path, paths_.picture, frames_per_second, paths_.encoding);
}

std::shared_ptr<Sink> RunOutputs::add_sink(const std::string& path, std::shared_ptr<Sink> sink) {
  if (paths_.failure == SinkFailurePolicy::skip || paths_.when_slow != SinkOverflowPolicy::wait)
    sink = make_buffered_sink(std::move(sink),
                              {.overflow = paths_.when_slow, .failure = paths_.failure});
  outputs_.push_back({path, sink});
  return sink;
}

void RunOutputs::add_recording(const std::string& name, std::shared_ptr<Sink> sink) {
  const MutexLock lock(finishing_);
  if (!finished_) outputs_.push_back({name, std::move(sink)});
}

/// A line for each output that lost records, and for each that lost clips of events.
std::vector<std::string> RunOutputs::losses() const {
  std::vector<std::string> lines;
  for (const Output& output : outputs_) {
    const std::optional<SinkStats> stats = output.sink->stats();
    if (!stats) continue;
    for (const auto& [what, lost] : {std::pair("records lost to ", stats->lost),
                                     std::pair("clips of events lost to ", stats->lost_clips)}) {
      if (lost.empty()) continue;
      std::string counts;
      for (const auto& [reason, count] : lost)
        counts += (counts.empty() ? "" : ", ") + reason + ' ' + std::to_string(count);
      std::string& line = lines.emplace_back(what + output.path + ": " + counts);
      if (stats->last_failure) line += "; the last failure: " + *stats->last_failure;
    }
  }
  return lines;
}

bool RunOutputs::uses_standard_output() const {
  return paths_.jsonl == "-" || paths_.report == "-" || paths_.summary == "-" ||
         paths_.trace == "-" || std::ranges::any_of(paths_.exports, [](const std::string& text) {
           return text.ends_with(":-");
         });
}

void RunOutputs::drop_empty() {
  const MutexLock lock(finishing_);
  if (std::exchange(finished_, true)) return;
  jsonl_.reset();
  shared_.clear();
  trace_.reset();
  report_.reset();
  summary_.reset();
  outputs_.clear();
  publishers_.clear();
}

std::string RunOutputs::unfinished() const {
  std::string list;
  for (const std::string& name : names_) {
    std::error_code unknown;
    const std::string part = name + kPart;
    if (!fs::is_regular_file(part, unknown)) continue;
    list += (list.empty() ? "" : ", ") + part;
  }
  return list;
}

void RunOutputs::finish(std::string summary) {
  const MutexLock lock(finishing_);
  if (std::exchange(finished_, true)) return;
  std::exception_ptr first_failure;
  const auto attempt = [&first_failure](const std::function<void()>& step) {
    try {
      step();
    } catch (...) {
      if (!first_failure) first_failure = std::current_exception();
    }
  };
  for (const Output& output : outputs_) attempt([&output] { output.sink->close(); });
  if (trace_) attempt([this] { trace_->close(); });
  end_publishers();
  const std::vector<std::string> lost = losses();  // known only after everything is written
  for (const std::string& line : lost) summary += line + '\n';
  for (const NamedPublisher& one : publishers_) summary += publisher_line(one);
  if (report_) attempt([&] { report_->finish(lost); });
  if (summary_)
    attempt([this, &summary] {
      summary_->write(summary);
      summary_->commit();
    });
  (uses_standard_output() ? std::cerr : std::cout) << summary << std::flush;
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace vcap::cli
