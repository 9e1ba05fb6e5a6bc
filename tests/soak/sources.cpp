// SPDX-License-Identifier: Apache-2.0
#include "sources.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <opencv2/core.hpp>
#include <optional>
#include <random>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap::soak {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration period_of(double per_second) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / per_second));
}

/// A wait that interrupt() ends.
class Pause {
 public:
  /// Returns false if interrupted.
  bool until(Clock::time_point time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_until(lock, time, [this] { return interrupted_; });
  }
  void interrupt() noexcept {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool interrupted_ = false;
};

class Counted final : public Source {
 public:
  Counted(std::unique_ptr<Source> source, double per_second,
          std::shared_ptr<std::atomic<std::int64_t>> given)
      : source_(std::move(source)), period_(period_of(per_second)), given_(std::move(given)) {}

  SourceInfo info() const override { return source_->info(); }
  std::optional<Frame> read() override {
    if (!pause_.until(next_)) return {};
    std::optional<Frame> frame = source_->read();
    next_ = std::max(next_ + period_, Clock::now());
    if (frame) ++*given_;
    return frame;
  }
  void interrupt() noexcept override {
    pause_.interrupt();
    source_->interrupt();
  }

 private:
  const std::unique_ptr<Source> source_;
  const Clock::duration period_;
  const std::shared_ptr<std::atomic<std::int64_t>> given_;
  Clock::time_point next_ = Clock::now();
  Pause pause_;
};

class Camera final : public Source {
 public:
  explicit Camera(const CameraPlan& plan) : plan_(plan), engine_(plan.seed) {}

  SourceInfo info() const override {
    return {.description = "camera in memory",
            .size = {320, 240},
            .frames_per_second = plan_.per_second,
            .live = true};
  }
  std::optional<Frame> read() override {
    if (next_ == plan_.frames) {
      if (plan_.fails)
        throw SourceError(ErrorCode::source_read, "the camera in memory is out of order");
      return {};
    }
    Discontinuity discontinuity = next_ == 0 ? Discontinuity::start : Discontinuity::none;
    if (next_ > 0 && std::bernoulli_distribution(0.02)(engine_)) {
      using Milliseconds = std::uniform_int_distribution<std::int64_t>;
      due_ += std::chrono::milliseconds(Milliseconds(1, plan_.longest_outage.count())(engine_));
      discontinuity = Discontinuity::reconnect;
    }
    if (!pause_.until(due_)) return {};
    due_ += period_of(plan_.per_second);
    return Frame{.image = cv::Mat(240, 320, CV_8UC3, cv::Scalar::all(double(next_ % 256))),
                 .index = next_++,
                 .pts = Clock::now() - opened_,
                 .discontinuity = discontinuity};
  }
  void interrupt() noexcept override { pause_.interrupt(); }

 private:
  const CameraPlan plan_;
  std::mt19937 engine_;
  const Clock::time_point opened_ = Clock::now();
  Clock::time_point due_ = opened_;
  std::int64_t next_ = 0;
  Pause pause_;
};

}  // namespace

std::unique_ptr<Source> counted(std::unique_ptr<Source> source, double per_second,
                                std::shared_ptr<std::atomic<std::int64_t>> given) {
  return std::make_unique<Counted>(std::move(source), per_second, std::move(given));
}

std::unique_ptr<Source> make_camera(const CameraPlan& plan) {
  return std::make_unique<Camera>(plan);
}

}  // namespace vcap::soak
