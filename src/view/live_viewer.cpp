// SPDX-License-Identifier: Apache-2.0
#include "view/live_viewer.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

/// The line before a message's bytes.
std::string head_of_message(nlohmann::json head, std::size_t bytes) {
  head["bytes"] = bytes;
  return head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string head_of_picture(const LivePicture& picture, std::uint64_t dropped) {
  return head_of_message({{"type", "picture"},
                          {"stream", picture.stream},
                          {"frame", picture.frame},
                          {"pts", picture.pts},
                          {"width", picture.size.width},
                          {"height", picture.size.height},
                          {"source_width", picture.source.width},
                          {"source_height", picture.source.height},
                          {"dropped", dropped}},
                         picture.jpeg->size());
}

}  // namespace

LiveViewer::LiveViewer(LiveInterest interest, std::optional<std::set<std::string>> allowed)
    : interest_(std::move(interest)), allowed_(std::move(allowed)) {}

std::optional<int> LiveViewer::width_of(const std::string& stream) const {
  if (allowed_ && !allowed_->contains(stream)) return std::nullopt;
  if (stream == interest_.large) return kLargeWidth;
  if (!interest_.streams.empty() && !interest_.streams.contains(stream)) return std::nullopt;
  return interest_.width;
}

void LiveViewer::offer(const LivePicture& picture, time_point now) {
  if (width_of(picture.stream) != picture.width) return;
  const MutexLock lock(mutex_);
  Stream& stream = streams_[picture.stream];
  if (now < stream.next) return;
  // From the time at which it was due, so that a short delay does not lower the rate.
  const bool is_late = now - stream.next > interest_.interval;
  stream.next = (is_late ? now : stream.next) + interest_.interval;
  if (stream.picture) ++stream.dropped;
  stream.picture = picture;
}

void LiveViewer::offer_record(const FrameRecord& record, const Text& json) {
  const MutexLock lock(mutex_);
  record_head_ = head_of_message(
      {{"type", "record"}, {"stream", record.stream_id}, {"frame", record.frame.index}},
      json->size());
  record_ = json;
}

void LiveViewer::offer_state(const Text& json) {
  const MutexLock lock(mutex_);
  state_ = json;
  is_new_ = false;
}

LiveViewer::Text LiveViewer::next() {
  const MutexLock lock(mutex_);
  if (body_) return std::exchange(body_, nullptr);
  if (state_) {
    body_ = std::exchange(state_, nullptr);
    return std::make_shared<const std::string>(head_of_message({{"type", "state"}}, body_->size()));
  }
  if (record_) {
    body_ = std::exchange(record_, nullptr);
    return std::make_shared<const std::string>(std::exchange(record_head_, {}));
  }
  return next_picture();
}

/// Of the stream after the one before, in turns.
LiveViewer::Text LiveViewer::next_picture() {
  auto found = streams_.upper_bound(last_);
  for (std::size_t i = 0; i < streams_.size(); ++i, ++found) {
    if (found == streams_.end()) found = streams_.begin();
    Stream& stream = found->second;
    if (!stream.picture) continue;
    last_ = found->first;
    body_ = stream.picture->jpeg;
    auto head =
        std::make_shared<const std::string>(head_of_picture(*stream.picture, stream.dropped));
    stream.picture.reset();
    return head;
  }
  return nullptr;
}

}  // namespace vcap
