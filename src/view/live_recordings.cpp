// SPDX-License-Identifier: Apache-2.0
#include "view/live_recordings.hpp"

#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// Closes all of them, then throws the first failure.
void close_recording(const ViewRecording& recording) {
  std::exception_ptr failure;
  for (const auto& sink : recording.sinks) {
    try {
      sink->close();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void log_failed_recording(const std::string& stream) {
  log(LogLevel::error, "the recording of stream " + quote(stream) +
                           " has ended: " + exception_text(std::current_exception()));
}

}  // namespace

LiveRecordings::~LiveRecordings() {
  for (const auto& [stream, recording] : recordings_) {
    try {
      close_recording(*recording);
    } catch (...) {
      log_failed_recording(stream);
    }
  }
}

bool LiveRecordings::start(const std::string& stream, ViewRecording recording) {
  const MutexLock lock(mutex_);
  any_ = true;
  return recordings_.emplace(stream, std::make_shared<const ViewRecording>(std::move(recording)))
      .second;
}

LiveRecordings::Shared LiveRecordings::take(const std::string& stream) {
  const MutexLock lock(mutex_);
  const auto node = recordings_.extract(stream);
  any_ = !recordings_.empty();
  return node.empty() ? nullptr : node.mapped();
}

bool LiveRecordings::remove(const std::string& stream, const Shared& recording) {
  const MutexLock lock(mutex_);
  const auto found = recordings_.find(stream);
  if (found == recordings_.end() || found->second != recording) return false;
  recordings_.erase(found);
  any_ = !recordings_.empty();
  return true;
}

std::optional<std::vector<std::string>> LiveRecordings::stop(const std::string& stream) {
  const Shared recording = take(stream);
  if (!recording) return std::nullopt;
  close_recording(*recording);
  return recording->files;
}

bool LiveRecordings::has(const std::string& stream) const {
  const MutexLock lock(mutex_);
  return recordings_.contains(stream);
}

void LiveRecordings::write(const FrameRecord& record) {
  if (!any_.load(std::memory_order_relaxed)) return;
  Shared recording;
  {
    const MutexLock lock(mutex_);
    const auto found = recordings_.find(record.stream_id);
    if (found == recordings_.end()) return;
    recording = found->second;
  }
  try {
    for (const auto& sink : recording->sinks) sink->write(record);
  } catch (...) {
    // Otherwise it was stopped meanwhile.
    if (remove(record.stream_id, recording)) log_failed_recording(record.stream_id);
  }
}

nlohmann::json LiveRecordings::json() const {
  const MutexLock lock(mutex_);
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [stream, recording] : recordings_) json[stream] = recording->files;
  return json;
}

}  // namespace vcap
