// SPDX-License-Identifier: Apache-2.0
#include "cluster/record_outlet.hpp"

#include "base/steady_clock.hpp"

namespace vcap {
namespace {

RecordOutlet::Settings with_clock(RecordOutlet::Settings settings) {
  if (!settings.clock) settings.clock = std::make_shared<detail::SteadyClock>();
  return settings;
}

/// In the time of a batch: what is due until the next one goes along. So the disk and the broker
/// get the messages of many streams at once.
constexpr int kFlushes = 10;
/// Longest wait of end(), in its times without news.
constexpr int kMostWaits = 10;
/// How often drain() looks at the stop token and the spool.
constexpr std::chrono::milliseconds kDrainStep{50};

}  // namespace

RecordOutlet::RecordOutlet(const std::shared_ptr<Cluster>& cluster, Settings settings)
    : settings_(with_clock(std::move(settings))), hook_(std::make_shared<Hook>(this)) {
  auto sender = std::make_unique<RecordSender>(
      cluster, [hook = hook_](const StreamEpoch& epoch, bool delivered) {
        const MutexLock lock(hook->mutex);
        if (hook->outlet) hook->outlet->settled(epoch, delivered);
      });
  sender_ = sender.get();
  // A broker that is back is noticed at once.
  pump_ = MessagePump::start("the cluster", settings_.spool, std::move(sender),
                             {.end_wait = std::chrono::nanoseconds(0),
                              .first_pause = std::chrono::milliseconds(200),
                              .longest_pause = std::chrono::seconds(2)});
  flusher_ = std::thread([this] { keep_flushing(); });
}

RecordOutlet::~RecordOutlet() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  flusher_.join();
  pump_->leave();
  const MutexLock lock(hook_->mutex);
  hook_->outlet = nullptr;
}

std::shared_ptr<RecordLane> RecordOutlet::begin(const StreamEpoch& epoch, std::uint64_t sequence) {
  auto lane = std::make_shared<RecordLane>(epoch, settings_.worker);
  sender_->begin(epoch, sequence);
  const MutexLock lock(mutex_);
  lanes_[epoch] = lane;
  return lane;
}

void RecordOutlet::add(RecordLane& lane, std::string_view record, std::int64_t frame_index,
                       std::chrono::nanoseconds pts) {
  const MutexLock lane_lock(lane.mutex_);
  const bool is_first = lane.batch_.is_empty();
  lane.batch_.add(record, frame_index, pts);
  if (lane.batch_.size() >= settings_.batch_bytes) {
    flush(lane);
    return;
  }
  if (!is_first) return;
  const Clock::time_point time = settings_.clock->now() + settings_.batch_time;
  const MutexLock lock(mutex_);
  if (due_.empty()) changed_.notify_all();
  due_.push_back({time, lanes_.at(lane.epoch_)});
}

void RecordOutlet::flush(RecordLane& lane) {
  const std::uint64_t count = lane.batch_.count();
  if (count == 0) return;
  {
    const MutexLock lock(mutex_);
    records_ += count;
    ++messages_;
    ++lane.sent_;
  }
  pump_->add_or_lose(to_key(lane.epoch_), lane.batch_.take());
}

bool RecordOutlet::end(RecordLane& lane, std::chrono::nanoseconds wait) {
  {
    const MutexLock lane_lock(lane.mutex_);
    flush(lane);
  }
  bool is_settled = false;
  {
    const MutexLock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + kMostWaits * wait;
    const auto all_settled = [&]() VCAP_REQUIRES(mutex_) { return lane.settled_ >= lane.sent_; };
    for (std::uint64_t seen = settlements_;; seen = settlements_) {
      is_settled = lane.changed_.wait_for(mutex_, wait, all_settled);
      if (is_settled || settlements_ == seen || std::chrono::steady_clock::now() >= end) break;
    }
    lanes_.erase(lane.epoch_);
  }
  if (is_settled) sender_->forget(lane.epoch_);
  return is_settled;
}

bool RecordOutlet::is_superseded(const RecordLane& lane) const {
  const MutexLock lock(mutex_);
  return lane.is_superseded_;
}

bool RecordOutlet::drain(std::chrono::nanoseconds wait, const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
    const MutexLock lock(mutex_);
    if (pump_->stats().waiting == 0) return true;
    const std::uint64_t seen = settlements_;
    settled_.wait_for(mutex_, kDrainStep,
                      [&]() VCAP_REQUIRES(mutex_) { return settlements_ != seen; });
  }
  return pump_->stats().waiting == 0;
}

RecordOutlet::Counts RecordOutlet::counts() const {
  const PublisherStats published = pump_->stats();
  const MutexLock lock(mutex_);
  return {.records = records_, .messages = messages_, .published = published};
}

void RecordOutlet::settled(const StreamEpoch& epoch, bool delivered) {
  bool is_new = false;
  {
    const MutexLock lock(mutex_);
    ++settlements_;
    if (const auto lane = lanes_.find(epoch); lane != lanes_.end()) {
      ++lane->second->settled_;
      is_new = !delivered && !std::exchange(lane->second->is_superseded_, !delivered);
      if (lane->second->settled_ >= lane->second->sent_) lane->second->changed_.notify_all();
    }
    settled_.notify_all();
  }
  if (is_new && settings_.on_superseded) settings_.on_superseded();
}

void RecordOutlet::keep_flushing() {
  for (;;) {
    std::vector<std::shared_ptr<RecordLane>> lanes;
    {
      const MutexLock lock(mutex_);
      while (!ending_ && (due_.empty() || settings_.clock->now() < due_.front().time)) {
        if (due_.empty())
          changed_.wait(mutex_);
        else
          changed_.wait_until(*settings_.clock, mutex_, due_.front().time);
      }
      if (ending_) return;
      const Clock::time_point end = settings_.clock->now() + settings_.batch_time / kFlushes;
      while (!due_.empty() && due_.front().time <= end) {
        lanes.push_back(std::move(due_.front().lane));
        due_.pop_front();
      }
    }
    for (const std::shared_ptr<RecordLane>& lane : lanes) {
      const MutexLock lane_lock(lane->mutex_);
      flush(*lane);
    }
  }
}

}  // namespace vcap
