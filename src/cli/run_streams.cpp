// SPDX-License-Identifier: Apache-2.0
#include "cli/run_streams.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/console.hpp"
#include "cli/time_text.hpp"
#include "cli/watch.hpp"

namespace vcap::cli {
namespace {

constexpr const char* kStopping =
    "vcap: stopping, and finishing the outputs; after a second signal, calls of capsules in "
    "progress are given up; after a third, outputs are left unfinished";

}  // namespace

void RunStreams::add(StreamConfig config) {
  const SourceInfo info = config.source->info();
  std::optional<std::int64_t> frames = info.frames;
  if (config.max_frames) frames = std::min(frames.value_or(*config.max_frames), *config.max_frames);
  if (expected_frames_)
    expected_frames_ = frames ? std::optional(*expected_frames_ + *frames) : std::nullopt;

  auto entry = std::make_unique<Entry>();
  entry->source = info.description;
  config.sinks.push_back(make_callback_sink(
      [this, &statistics = entry->statistics](const FrameRecord& record) {
        statistics.add(record);
        ++frames_;
      },
      false));
  entry->config = std::move(config);
  entries_.push_back(std::move(entry));
}

void RunStreams::run(Pipeline& pipeline, StopSignal& stop, Clock::duration grace,
                     const std::function<void()>& leave) {
  std::vector<std::string> ids;
  std::vector<StreamConfig> configs;
  for (const auto& entry : entries_) {
    ids.push_back(entry->config.id);
    configs.push_back(std::move(entry->config));
  }
  // Opening runs code of capsules, and what stops the streams may come meanwhile.
  std::atomic<bool> stopping = false;
  watch_over(
      [&] {
        pipeline.open_streams(std::move(configs));
        if (stopping) pipeline.stop();
        for (const std::string& id : ids) reports_.push_back(pipeline.wait(id));
      },
      stop,
      {.on_stop =
           [&] {
             stopping = true;
             pipeline.stop();
             if (stop.raised()) Console::shared().line(kStopping);
           },
       .on_overdue = [&](Clock::duration age) { given_up_ += pipeline.give_up_calls(age); },
       .on_leave = leave,
       .progress = [this](std::chrono::duration<double> elapsed) { return progress(elapsed); },
       .grace = grace});
  stopped_ = stop.raised();
}

std::string RunStreams::progress(std::chrono::duration<double> elapsed) const {
  const std::int64_t done = frames();
  const double rate = elapsed.count() > 0 ? static_cast<double>(done) / elapsed.count() : 0;
  std::string text = entries_.size() > 1 ? std::to_string(entries_.size()) + " streams: " : "";
  text += std::to_string(done);
  if (expected_frames_) text += " of " + std::to_string(*expected_frames_);
  char figures[64];
  std::snprintf(figures, sizeof figures, " frames, %.1f frames/s", rate);
  text += figures;
  if (expected_frames_ && done > 0)
    text +=
        ", " +
        time_text(static_cast<double>(std::max<std::int64_t>(*expected_frames_ - done, 0)) / rate) +
        " left";
  return text;
}

bool RunStreams::every_frame_failed() const {
  std::int64_t failed = 0;
  for (const StreamReport& report : reports_) failed += report.errors;
  return failed > 0 && failed == frames();
}

std::string RunStreams::first_error() const {
  for (const auto& entry : entries_)
    if (!entry->statistics.first_error().empty()) return entry->statistics.first_error();
  return {};
}

void RunStreams::print_summary(std::ostream& out) const {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    entries_[i]->statistics.print(out, entries_[i]->source, reports_[i]);
  if (stopped_) out << "stopped before the sources had ended\n";
}

}  // namespace vcap::cli
