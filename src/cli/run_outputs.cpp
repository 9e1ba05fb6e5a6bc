// SPDX-License-Identifier: Apache-2.0
#include "cli/run_outputs.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <system_error>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/stream_names.hpp"

namespace vcap::cli {

namespace fs = std::filesystem;

RunOutputs::RunOutputs(OutputPaths paths, std::vector<std::string> sources)
    : paths_(std::move(paths)), sources_(std::move(sources)) {
  if (!paths_.summary.empty()) {
    check_free(paths_.summary);
    summary_.emplace(paths_.summary);
  }
  if (!paths_.jsonl.empty()) {
    check_free(paths_.jsonl);
    jsonl_ = add_sink(paths_.jsonl, make_json_lines_sink(paths_.jsonl));
  }
  if (!paths_.trace.empty()) {
    check_free(paths_.trace);
    trace_ = std::make_shared<Trace>(paths_.trace);
  }
  // The clip's file is made with its stream, when its frame rate is known; a wrong folder, codec or
  // quality is found now.
  if (!paths_.video.empty()) make_annotated_video_sink(paths_.video, 0, paths_.encoding);
}

void RunOutputs::check_free(const std::string& path) {
  std::error_code unknown;
  for (const std::string& source : sources_)
    if (fs::is_regular_file(path, unknown) && fs::equivalent(path, source, unknown))
      throw UsageError("output " + path + " is the source " + source +
                       " and would replace it; give another name");
  const bool shared = fs::exists(path, unknown) && !fs::is_regular_file(path, unknown);
  const std::string name = fs::absolute(path).lexically_normal().string();
  if (!shared && std::find(names_.begin(), names_.end(), name) != names_.end())
    throw UsageError("output " + path + " is given twice; give each output its own name");
  names_.push_back(name);
}

std::vector<std::shared_ptr<Sink>> RunOutputs::sinks_of_stream(const std::string& stream_id,
                                                               bool one_of_several,
                                                               double frames_per_second) {
  std::vector<std::shared_ptr<Sink>> sinks;
  if (jsonl_) sinks.push_back(jsonl_);
  if (!paths_.video.empty()) {
    const fs::path path =
        one_of_several ? output_of_stream(paths_.video, stream_id) : fs::path(paths_.video);
    check_free(path.string());
    sinks.push_back(add_sink(path.string(),
                             make_annotated_video_sink(path, frames_per_second, paths_.encoding)));
  }
  return sinks;
}

std::shared_ptr<Sink> RunOutputs::add_sink(const std::string& path, std::shared_ptr<Sink> sink) {
  if (paths_.failure == SinkFailurePolicy::skip || paths_.when_slow != SinkOverflowPolicy::wait)
    sink = make_buffered_sink(std::move(sink),
                              {.overflow = paths_.when_slow, .failure = paths_.failure});
  outputs_.push_back({path, sink});
  return sink;
}

/// A line for each output that lost records.
std::string RunOutputs::losses() const {
  std::string lines;
  for (const Output& output : outputs_) {
    const std::optional<SinkStats> stats = output.sink->stats();
    if (!stats || stats->lost.empty()) continue;
    std::string counts;
    for (const auto& [reason, count] : stats->lost)
      counts += (counts.empty() ? "" : ", ") + reason + ' ' + std::to_string(count);
    lines += "records lost to " + output.path + ": " + counts;
    if (stats->last_failure) lines += "; the last failure: " + *stats->last_failure;
    lines += '\n';
  }
  return lines;
}

void RunOutputs::finish(std::string summary) {
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
  summary += losses();  // known only after everything is written
  if (summary_)
    attempt([this, &summary] {
      summary_->write(summary);
      summary_->commit();
    });
  const bool stdout_taken = paths_.jsonl == "-" || paths_.summary == "-" || paths_.trace == "-";
  (stdout_taken ? std::cerr : std::cout) << summary << std::flush;
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace vcap::cli
