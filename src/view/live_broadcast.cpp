// SPDX-License-Identifier: Apache-2.0
#include "view/live_broadcast.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "pipeline/signals_blocked.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using SteadyTime = std::chrono::steady_clock;

/// How often looks are renewed; below LiveRecords::kLook.
constexpr std::chrono::milliseconds kRenewal{500};
constexpr std::chrono::milliseconds kStates{1000};
/// Of requests for single pictures.
constexpr std::chrono::milliseconds kSingleInterval{40};

std::shared_ptr<const std::string> shared_text(const nlohmann::json& json) {
  return std::make_shared<const std::string>(
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

LiveBroadcast::LiveBroadcast(LiveRecords& records, MakeAnnotator make_annotator,
                             Callbacks callbacks)
    : records_(records),
      make_annotator_(std::move(make_annotator)),
      callbacks_(std::move(callbacks)) {
  const SignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

LiveBroadcast::~LiveBroadcast() { stop(); }

void LiveBroadcast::stop() {
  thread_.request_stop();
  records_.wake();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<LiveViewer> LiveBroadcast::add_viewer(
    LiveInterest interest, std::optional<std::set<std::string>> allowed) {
  auto viewer = std::make_shared<LiveViewer>(std::move(interest), std::move(allowed));
  {
    const MutexLock lock(mutex_);
    viewers_.push_back(viewer);
  }
  records_.wake();
  return viewer;
}

std::size_t LiveBroadcast::viewers() const {
  const MutexLock lock(mutex_);
  return viewers_.size();
}

std::optional<LivePicture> LiveBroadcast::picture(const std::string& stream, int width) {
  records_.look(stream, width, kSingleInterval, SteadyTime::now());
  const MutexLock lock(mutex_);
  const auto found = newest_.find(stream);
  if (found == newest_.end()) return std::nullopt;
  const auto picture = found->second.pictures.find(width);
  return picture == found->second.pictures.end() ? std::nullopt : std::optional(picture->second);
}

std::optional<FrameRecord> LiveBroadcast::record(const std::string& stream) {
  records_.look(stream, live_width(0), kSingleInterval, SteadyTime::now());
  const MutexLock lock(mutex_);
  const auto found = newest_.find(stream);
  return found == newest_.end() ? std::nullopt : std::optional(found->second.record);
}

void LiveBroadcast::forget(const std::string& stream) {
  const MutexLock lock(mutex_);
  newest_.erase(stream);
}

void LiveBroadcast::run(const std::stop_token& stop) {
  SteadyTime::time_point renewal{};
  SteadyTime::time_point states{};
  while (!stop.stop_requested()) {
    const Viewers viewers = present_viewers();
    const SteadyTime::time_point now = SteadyTime::now();
    const bool has_new =
        std::ranges::any_of(viewers, [](const auto& viewer) { return viewer->is_new(); });
    try {
      if (now >= renewal || has_new) {
        const std::set<std::string> streams = callbacks_.streams();
        forget_ended(streams);
        look(viewers, streams, now);
        renewal = now + kRenewal;
      }
      if (has_new) send_states(viewers, true);
      if (now >= states) {
        send_states(viewers, false);
        states = now + kStates;
      }
      for (LiveRecords::Taken& taken : records_.take(renewal)) publish(std::move(taken));
    } catch (...) {
      log(LogLevel::warning, "the live view: " + exception_text(std::current_exception()));
      pause(stop);  // what fails may do so each time
    }
  }
}

void LiveBroadcast::pause(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  never_.wait_for(mutex_, stop, kStates, [] { return false; });
}

LiveBroadcast::Viewers LiveBroadcast::present_viewers() {
  const MutexLock lock(mutex_);
  std::erase_if(viewers_, [](const auto& viewer) { return viewer->is_gone(); });
  return viewers_;
}

/// A stream that is opened again under the same id shows no picture of the one before.
void LiveBroadcast::forget_ended(const std::set<std::string>& streams) {
  std::erase_if(annotators_, [&](const auto& entry) { return !streams.contains(entry.first); });
  const MutexLock lock(mutex_);
  std::erase_if(newest_, [&](const auto& entry) { return !streams.contains(entry.first); });
}

void LiveBroadcast::look(const Viewers& viewers, const std::set<std::string>& streams,
                         time_point now) {
  for (const auto& viewer : viewers)
    for (const std::string& stream : streams)
      if (const std::optional<int> width = viewer->width_of(stream))
        records_.look(stream, *width, viewer->interest().interval, now);
}

/// Viewers of the same streams share a text.
void LiveBroadcast::send_states(const Viewers& viewers, bool only_new) {
  const std::uint64_t log_from = only_new ? 0 : log_from_;
  if (!only_new) log_from_ = callbacks_.next_log_line();
  std::map<std::optional<std::set<std::string>>, LiveViewer::Text> texts;
  for (const auto& viewer : viewers) {
    if (only_new && !viewer->is_new()) continue;
    LiveViewer::Text& text = texts[viewer->allowed()];
    if (!text) text = shared_text(callbacks_.state(viewer->allowed(), log_from));
    viewer->offer_state(text);
  }
  if (!texts.empty()) callbacks_.wake();
}

std::map<int, LivePicture> LiveBroadcast::encode(const LiveRecords::Taken& taken) {
  std::map<int, LivePicture> pictures;
  if (taken.record.frame.image.empty()) return pictures;
  auto& annotator = annotators_[taken.record.stream_id];
  if (!annotator) annotator = make_annotator_(taken.record.stream_id);
  canvas_.draw(taken.record, *annotator);
  for (const int width : taken.widths) pictures.emplace(width, canvas_.encode(taken.record, width));
  return pictures;
}

void LiveBroadcast::publish(LiveRecords::Taken taken) {
  std::map<int, LivePicture> pictures = encode(taken);
  const time_point now = SteadyTime::now();
  LiveViewer::Text json;
  for (const auto& viewer : present_viewers()) {
    for (const auto& [width, picture] : pictures) viewer->offer(picture, now);
    if (viewer->interest().large != taken.record.stream_id ||
        !viewer->width_of(taken.record.stream_id))
      continue;
    if (!json) json = shared_text(taken.record);
    viewer->offer_record(taken.record, json);
  }
  callbacks_.wake();
  const std::string stream = taken.record.stream_id;
  Newest newest{.record = std::move(taken.record), .pictures = std::move(pictures)};
  const MutexLock lock(mutex_);
  std::swap(newest_[stream], newest);
}

}  // namespace vcap
