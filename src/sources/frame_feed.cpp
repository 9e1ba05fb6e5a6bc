// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/frame_feed.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "sources/discontinuities.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

/// The state that host and stream share. Thread safety: thread-safe.
class FrameFeed::Queue {
 public:
  explicit Queue(Settings settings) : settings_(std::move(settings)) {
    if (settings_.capacity == 0)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            name() + ": invalid capacity 0: must be at least 1");
    if (!std::isfinite(settings_.frames_per_second) || settings_.frames_per_second < 0)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            name() + ": invalid frame rate " +
                                number_text(settings_.frames_per_second) +
                                ": must be > 0, or 0 if unknown");
  }

  const Settings& settings() const noexcept { return settings_; }
  std::string name() const { return "frame feed " + quote(settings_.name); }

  void take_source() {
    const MutexLock lock(mutex_);
    if (std::exchange(has_source_, true))
      throw InvalidArgument(ErrorCode::invalid_argument,
                            name() + " has a stream already; make a feed for each stream");
  }

  bool push(Frame frame, std::optional<std::chrono::nanoseconds> pts, bool waits) {
    if (frame.image.empty() || frame.image.type() != CV_8UC3)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            name() + " was given " +
                                (frame.image.empty() ? "an image without pixels"
                                                     : "pixels of a type other than CV_8UC3") +
                                "; frames are height × width × 3, 8 bit, BGR");
    const auto now = std::chrono::steady_clock::now();
    MutexLock lock(mutex_);
    if (waits)
      room_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) {
        return over_ || frames_.size() < settings_.capacity;
      });
    if (over_) return false;
    frame.pts = pts ? checked(*pts) : time_of(now);
    frame.index = next_index_++;
    if (frame.index == 0) frame.discontinuity = Discontinuity::start;
    last_pts_ = frame.pts;
    if (frames_.size() >= settings_.capacity) {
      refused_.add(frame.discontinuity);
      refused_.add(Discontinuity::gap);
      return false;
    }
    Discontinuities all = std::exchange(refused_, {});
    all.add(frame.discontinuity);
    frame.discontinuity = all.foremost();
    frames_.push_back(std::move(frame));
    arrived_.notify_one();
    return true;
  }

  /// `nullopt` after interrupt(), or after end() when all frames are read.
  std::optional<Frame> pop() {
    MutexLock lock(mutex_);
    arrived_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return over_ || !frames_.empty(); });
    if (frames_.empty()) return {};
    Frame frame = std::move(frames_.front());
    frames_.pop_front();
    room_.notify_one();
    return frame;
  }

  void end() noexcept {
    const MutexLock lock(mutex_);
    over_ = true;
    arrived_.notify_all();
    room_.notify_all();
  }

  /// Ends the feed and drops the frames that wait to be read.
  void interrupt() noexcept {
    end();
    const MutexLock lock(mutex_);
    frames_.clear();
  }

 private:
  std::chrono::nanoseconds time_of(std::chrono::steady_clock::time_point now)
      VCAP_REQUIRES(mutex_) {
    if (!first_at_) first_at_ = now;
    return std::max(last_pts_ + std::chrono::nanoseconds(1),
                    std::chrono::nanoseconds(now - *first_at_));
  }

  std::chrono::nanoseconds checked(std::chrono::nanoseconds pts) const VCAP_REQUIRES(mutex_) {
    if (pts <= last_pts_)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            name() + " was given a frame at " + std::to_string(pts.count()) +
                                " ns after one at " + std::to_string(last_pts_.count()) +
                                " ns; times must be >= 0 and increase");
    return pts;
  }

  const Settings settings_;
  Mutex mutex_;
  CondVar arrived_;
  CondVar room_;
  std::deque<Frame> frames_ VCAP_GUARDED_BY(mutex_);
  std::optional<std::chrono::steady_clock::time_point> first_at_ VCAP_GUARDED_BY(mutex_);
  std::chrono::nanoseconds last_pts_ VCAP_GUARDED_BY(mutex_){-1};
  std::int64_t next_index_ VCAP_GUARDED_BY(mutex_) = 0;
  /// Of frames refused since the last accepted one.
  Discontinuities refused_ VCAP_GUARDED_BY(mutex_){};
  bool has_source_ VCAP_GUARDED_BY(mutex_) = false;
  bool over_ VCAP_GUARDED_BY(mutex_) = false;
};

/// The stream's side of the queue.
class FrameFeed::QueueSource final : public Source {
 public:
  explicit QueueSource(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
  ~QueueSource() override { queue_->interrupt(); }

  SourceInfo info() const override {
    return {.description = queue_->name(),
            .frames_per_second = queue_->settings().frames_per_second,
            .live = queue_->settings().live,
            .fed = true};
  }
  std::optional<Frame> read() override { return queue_->pop(); }
  void interrupt() noexcept override { queue_->interrupt(); }

 private:
  const std::shared_ptr<Queue> queue_;
};

FrameFeed::FrameFeed() : FrameFeed(Settings{}) {}

FrameFeed::FrameFeed(Settings settings) : queue_(std::make_shared<Queue>(std::move(settings))) {}

FrameFeed::~FrameFeed() { end(); }

std::unique_ptr<Source> FrameFeed::source() {
  queue_->take_source();
  return std::make_unique<QueueSource>(queue_);
}

bool FrameFeed::push(cv::Mat image, std::optional<std::chrono::nanoseconds> pts,
                     Discontinuity discontinuity) {
  return queue_->push({.image = std::move(image), .discontinuity = discontinuity}, pts, true);
}

bool FrameFeed::try_push(cv::Mat image, std::optional<std::chrono::nanoseconds> pts,
                         Discontinuity discontinuity) {
  return queue_->push({.image = std::move(image), .discontinuity = discontinuity}, pts, false);
}

void FrameFeed::end() noexcept { queue_->end(); }

}  // namespace vcap
