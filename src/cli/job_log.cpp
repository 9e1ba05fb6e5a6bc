// SPDX-License-Identifier: Apache-2.0
#include "cli/job_log.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/time_text.hpp"

namespace vcap::cli {
namespace {

double weight_of(const Job& job, const Job::Video& video) {
  if (job.max_frames) return 1;
  std::error_code unknown;
  const auto size = std::filesystem::file_size(video.source, unknown);
  return unknown ? 1 : std::max(1.0, static_cast<double>(size));
}

std::string line_of(const JobVideoReport& video) {
  std::string line = "vcap: " + video.id + ": " + counted(video.frames, "frame");
  if (video.broken_pictures.count > 0)
    line += ", broken pictures skipped: " + to_string(video.broken_pictures);
  if (video.failed_frames > 0)
    line += ", " + std::to_string(video.failed_frames) + " failed, the first: " + video.first_error;
  return line;
}

}  // namespace

JobLog::JobLog(const Job& job) : videos_(job.videos.size()) {
  for (const Job::Video& video : job.videos) weights_.emplace(video.id, weight_of(job, video));
}

void JobLog::resume(const JobKept& kept) {
  {
    const MutexLock lock(mutex_);
    kept_frames_ = kept.frames;
    for (const std::string& video : kept.videos) weights_.erase(video);
  }
  if (kept.videos.empty() && kept.slices == 0) return;
  std::string line = "vcap: kept from earlier runs: " + std::to_string(kept.videos.size()) +
                     " of " + counted(static_cast<std::int64_t>(videos_), "video");
  if (kept.slices > 0)
    line += ", and " + counted(kept.slices, "slice") + " of the others with " +
            counted(kept.frames, "frame");
  Console::shared().line(line);
}

void JobLog::add(const JobVideoReport& video) {
  {
    const MutexLock lock(mutex_);
    ++settled_;
    if (const auto weight = weights_.find(video.id); weight != weights_.end()) {
      if (video.outcome == JobVideoReport::Outcome::done) {
        done_weight_ += weight->second;
        done_frames_ += video.frames;
      }
      weights_.erase(weight);
    }
    if (video.frames > 0 && video.failed_frames == video.frames && every_frame_failed_.empty())
      every_frame_failed_ = "video " + video.id +
                            ": a capsule failed on every frame; the first: " + video.first_error;
  }
  // Videos done before may be thousands, and were reported then.
  if (video.outcome == JobVideoReport::Outcome::done) Console::shared().line(line_of(video));
}

std::string JobLog::every_frame_failed() const {
  const MutexLock lock(mutex_);
  return every_frame_failed_;
}

/// Below 0 if it is not known.
double JobLog::seconds_left(std::chrono::duration<double> elapsed) const {
  const std::int64_t frames = frames_;
  if (done_frames_ == 0 || frames == 0) return -1;
  double weight = done_weight_;
  for (const auto& [video, one] : weights_) weight += one;
  const double all = weight * static_cast<double>(done_frames_) / done_weight_;
  const double left = std::max(0.0, all - static_cast<double>(frames + kept_frames_));
  return left * elapsed.count() / static_cast<double>(frames);
}

std::string JobLog::progress(std::chrono::duration<double> elapsed) const {
  const std::int64_t frames = frames_;
  char figures[96];
  std::snprintf(figures, sizeof figures, ", %lld frames, %.1f frames/s",
                static_cast<long long>(frames),
                elapsed.count() > 0 ? static_cast<double>(frames) / elapsed.count() : 0);
  const MutexLock lock(mutex_);
  std::string text = std::to_string(settled_) + " of " +
                     counted(static_cast<std::int64_t>(videos_), "video") + figures;
  if (const double left = seconds_left(elapsed); left >= 0)
    text += ", about " + time_text(left) + " left";
  return text;
}

}  // namespace vcap::cli
