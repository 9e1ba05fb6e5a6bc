// SPDX-License-Identifier: Apache-2.0
#include "cli/run_streams.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/console.hpp"
#include "cli/time_text.hpp"
#include "cli/watch.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

constexpr const char* kStopping =
    "vcap: stopping, and finishing the outputs; after a second signal, calls of capsules in "
    "progress are given up; after a third, outputs are left unfinished";

}  // namespace

std::unique_ptr<RunStreams::Entry> RunStreams::make_entry(StreamConfig& config) {
  const SourceInfo info = config.source->info();
  auto entry = std::make_unique<Entry>();
  entry->id = config.id;
  entry->source = info.description;
  entry->expected_frames = info.frames;
  if (config.max_frames)
    entry->expected_frames = std::min(info.frames.value_or(*config.max_frames), *config.max_frames);
  config.sinks.push_back(make_callback_sink(
      [this, &statistics = entry->statistics](const FrameRecord& record) {
        statistics.add(record);
        ++frames_;
      },
      false));
  return entry;
}

void RunStreams::add(StreamConfig config) {
  auto entry = make_entry(config);
  configs_.push_back(std::move(config));
  const MutexLock lock(mutex_);
  entries_.push_back(std::move(entry));
}

void RunStreams::open(Pipeline& pipeline, StreamConfig config) {
  auto entry = make_entry(config);  // destroyed after the stream, which counts in it
  const std::string id = config.id;
  pipeline.open_stream(std::move(config));
  {
    const MutexLock lock(mutex_);
    if (!stopping_) {
      entries_.push_back(std::move(entry));
      return changed_.notify_all();
    }
  }
  pipeline.close_stream(id);
  throw SourceError(ErrorCode::source_open, "the run is ending, so it takes no more streams");
}

StreamReport RunStreams::close(Pipeline& pipeline, const std::string& id) {
  StreamReport report = pipeline.close_stream(id);
  const MutexLock lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->id != id || entry->report) continue;
    entry->report = report;
    break;
  }
  changed_.notify_all();
  return report;
}

void RunStreams::wait_for(Pipeline& pipeline, Entry& entry) {
  std::optional<StreamReport> report;
  try {
    report = pipeline.wait(entry.id);
  } catch (const SourceError& error) {
    if (error.code() != ErrorCode::unknown_stream) throw;
  }
  const MutexLock lock(mutex_);
  // Without a report here, close() has ended it and is about to say how.
  while (!report && !entry.report) changed_.wait(mutex_);
  if (!entry.report) entry.report = std::move(report);
}

void RunStreams::wait_for_all(Pipeline& pipeline, bool stays) {
  for (std::size_t i = 0;; ++i) {
    Entry* next = nullptr;
    {
      const MutexLock lock(mutex_);
      while (i == entries_.size() && stays && !stopping_) changed_.wait(mutex_);
      if (i == entries_.size()) break;
      next = entries_[i].get();
      if (next->report) continue;
    }
    wait_for(pipeline, *next);
  }
  const MutexLock lock(mutex_);
  stopping_ = true;
  for (const auto& entry : entries_) reports_.push_back(*entry->report);
}

void RunStreams::begin_stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void RunStreams::run(Pipeline& pipeline, StopSignal& stop, const End& end) {
  // Opening runs code of capsules, and what stops the streams may come meanwhile.
  std::atomic<bool> stopping = false;
  watch_over(
      [&] {
        pipeline.open_streams(std::move(configs_));
        if (stopping) pipeline.stop();
        wait_for_all(pipeline, end.stays);
      },
      stop,
      {.on_stop =
           [&] {
             stopping = true;
             begin_stop();
             pipeline.stop();
             if (stop.raised()) Console::shared().line(kStopping);
           },
       .on_overdue = [&](Clock::duration age) { given_up_ += pipeline.give_up_calls(age); },
       .on_leave = end.leave,
       .progress = [this](std::chrono::duration<double> elapsed) { return progress(elapsed); },
       .grace = end.grace});
  stopped_ = stop.raised();
}

std::string RunStreams::progress(std::chrono::duration<double> elapsed) const {
  const std::int64_t done = frames();
  const double rate = elapsed.count() > 0 ? static_cast<double>(done) / elapsed.count() : 0;
  std::size_t streams = 0;
  std::optional<std::int64_t> expected = 0;
  {
    const MutexLock lock(mutex_);
    streams = entries_.size();
    for (const auto& entry : entries_)
      expected = expected && entry->expected_frames
                     ? std::optional(*expected + *entry->expected_frames)
                     : std::nullopt;
  }
  std::string text = streams > 1 ? std::to_string(streams) + " streams: " : "";
  text += std::to_string(done);
  if (expected) text += " of " + std::to_string(*expected);
  char figures[64];
  std::snprintf(figures, sizeof figures, " frames, %.1f frames/s", rate);
  text += figures;
  if (expected && done > 0)
    text += ", " +
            time_text(static_cast<double>(std::max<std::int64_t>(*expected - done, 0)) / rate) +
            " left";
  return text;
}

bool RunStreams::every_frame_failed() const {
  std::int64_t failed = 0;
  for (const StreamReport& report : reports_) failed += report.errors;
  return failed > 0 && failed == frames();
}

std::string RunStreams::first_error() const {
  const MutexLock lock(mutex_);
  for (const auto& entry : entries_)
    if (!entry->statistics.first_error().empty()) return entry->statistics.first_error();
  return {};
}

void RunStreams::print_summary(std::ostream& out) const {
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    entries_[i]->statistics.print(out, entries_[i]->source, reports_[i]);
  if (stopped_) out << "stopped before the sources had ended\n";
}

}  // namespace vcap::cli
