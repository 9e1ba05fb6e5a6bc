// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/buffered_sink.hpp"

#include <deque>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/steady_clock.hpp"
#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

constexpr std::chrono::nanoseconds kLongestPause = std::chrono::hours(24);

/// Reasons for losses, as in SinkStats.
constexpr const char* kLostFull = "full";
constexpr const char* kLostFailed = "failed";

class BufferedSink final : public Sink {
 public:
  BufferedSink(std::shared_ptr<Sink> sink, SinkPolicy policy)
      : sink_(std::move(sink)), policy_(std::move(policy)), thread_([this] { write_queued(); }) {}

  ~BufferedSink() override {
    std::deque<FrameRecord> dropped;
    {
      const MutexLock lock(mutex_);
      dropped.swap(queue_);
      closing_ = true;
    }
    work_.notify_one();
    dropped.clear();
    if (thread_.joinable()) thread_.join();
  }

  void write(const FrameRecord& record) override {
    FrameRecord taken = used_of(record);  // destroyed after unlocking; then perhaps a dropped one
    MutexLock lock(mutex_);
    if (policy_.overflow == SinkOverflowPolicy::wait)
      room_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) {
        return queue_.size() < policy_.queue || failure_ || closing_;
      });
    if (failure_) std::rethrow_exception(failure_);
    if (closing_)
      throw OutputError(ErrorCode::output_write,
                        "a buffered sink is closed already; close a sink after the last stream "
                        "that writes to it");
    if (is_paused()) return lose_to_failure(1);
    const bool full = queue_.size() >= policy_.queue;
    if (full) ++stats_.lost[kLostFull];
    if (full && policy_.overflow == SinkOverflowPolicy::drop_newest) return;
    queue_.push_back(std::move(taken));
    if (full) {
      taken = std::move(queue_.front());
      queue_.pop_front();
    }
    work_.notify_one();
  }

  bool needs_pixels() const override { return sink_->needs_pixels(); }
  std::vector<std::string> pictures() const override { return sink_->pictures(); }
  bool needs_steps() const override { return sink_->needs_steps(); }

  void close() override {
    const MutexLock one_at_a_time(close_mutex_);
    {
      const MutexLock lock(mutex_);
      if (std::exchange(closing_, true)) return;
    }
    work_.notify_one();
    room_.notify_all();
    thread_.join();
    std::exception_ptr failure = failure_of_writes();
    try {
      sink_->close();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    if (failure) std::rethrow_exception(failure);
  }

  std::optional<SinkStats> stats() const override {
    std::optional<SinkStats> inner = sink_->stats();  // without the lock: it may be the host's
    const MutexLock lock(mutex_);
    SinkStats stats = stats_;
    stats.queued = queue_.size() + (writing_ ? 1 : 0);
    if (!inner) return stats;
    stats.lost_clips = std::move(inner->lost_clips);
    if (!stats.last_failure) stats.last_failure = std::move(inner->last_failure);
    return stats;
  }

 private:
  /// The record with the pixels that the sink uses, so that a queue holds no others.
  FrameRecord used_of(const FrameRecord& record) const {
    FrameRecord used = record;
    if (!sink_->needs_steps()) used.steps.clear();
    if (sink_->needs_pixels()) return used;
    used.frame.image.release();
    used.frame.pictures = {};
    for (const std::string& name : sink_->pictures())
      if (const cv::Mat* const image = record.frame.pictures.find(name))
        used.frame.pictures.set(name, *image);
    return used;
  }

  /// The thread's loop: runs until closing_ is set and the queue is empty.
  void write_queued() VCAP_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (true) {
      work_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const FrameRecord record = std::move(queue_.front());
      queue_.pop_front();
      writing_ = true;
      lock.unlock();
      room_.notify_one();
      const std::exception_ptr thrown = attempt(record);
      // Without the lock: what() may be the host's.
      std::string why = thrown ? exception_text(thrown) : std::string();
      lock.lock();
      writing_ = false;
      std::deque<FrameRecord> given_up;
      const std::string news =
          thrown ? note_failure(thrown, std::move(why), given_up) : note_success();
      lock.unlock();
      if (thrown) room_.notify_all();
      given_up.clear();
      // Without the lock: the host's log callback may use this sink.
      if (!news.empty()) log(LogLevel::warning, "stream " + record.stream_id + ": a sink " + news);
      lock.lock();
    }
  }

  std::exception_ptr failure_of_writes() const VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return failure_;
  }

  std::exception_ptr attempt(const FrameRecord& record) {
    try {
      sink_->write(record);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  // note_failure() and note_success() return the text to log, if any.

  std::string note_failure(const std::exception_ptr& thrown, std::string why,
                           std::deque<FrameRecord>& given_up) VCAP_REQUIRES(mutex_) {
    stats_.last_failure = std::move(why);
    const bool skips = policy_.failure == SinkFailurePolicy::skip;
    if (skips)
      retry_at_ = policy_.clock->now() + policy_.retry_after;
    else
      failure_ = thrown;
    if (!skips || policy_.retry_after > std::chrono::nanoseconds(0)) given_up.swap(queue_);
    const bool is_first = lost_in_a_row_ == 0;
    lose_to_failure(1 + given_up.size());
    if (!skips || !is_first) return {};
    return "failed and is tried again after " +
           number_text(std::chrono::duration<double>(policy_.retry_after).count()) +
           " s; until it works, it loses records: " + *stats_.last_failure;
  }

  std::string note_success() VCAP_REQUIRES(mutex_) {
    ++stats_.written;
    const std::uint64_t lost = std::exchange(lost_in_a_row_, 0);
    return lost == 0 ? "" : "works again; records that it lost: " + std::to_string(lost);
  }

  void lose_to_failure(std::uint64_t records) VCAP_REQUIRES(mutex_) {
    stats_.lost[kLostFailed] += records;
    lost_in_a_row_ += records;
  }

  /// Whether the sink has failed and is not tried at present.
  bool is_paused() const VCAP_REQUIRES(mutex_) {
    return lost_in_a_row_ > 0 && policy_.clock->now() < retry_at_;
  }

  const std::shared_ptr<Sink> sink_;
  const SinkPolicy policy_;  ///< its clock is set

  Mutex close_mutex_;
  mutable Mutex mutex_;
  CondVar work_;
  CondVar room_;
  std::deque<FrameRecord> queue_ VCAP_GUARDED_BY(mutex_);
  bool writing_ VCAP_GUARDED_BY(mutex_) = false;
  bool closing_ VCAP_GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ VCAP_GUARDED_BY(mutex_);  ///< only with end_stream
  /// Lost to failures since the last record was written.
  std::uint64_t lost_in_a_row_ VCAP_GUARDED_BY(mutex_) = 0;
  /// Used if lost_in_a_row_ is not 0.
  Clock::time_point retry_at_ VCAP_GUARDED_BY(mutex_){};
  SinkStats stats_ VCAP_GUARDED_BY(mutex_);
  /// Last, since it uses all other members.
  std::thread thread_ VCAP_GUARDED_BY(close_mutex_);
};

void require_policy(bool right, const std::string& value, const std::string& allowed) {
  if (!right)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "SinkPolicy::" + value + " is not " + allowed);
}

}  // namespace

void validate(const SinkPolicy& policy) {
  require_policy(policy.queue >= 1, "queue: 0", "at least 1");
  require_policy(policy.overflow >= SinkOverflowPolicy::wait &&
                     policy.overflow <= SinkOverflowPolicy::drop_newest,
                 "overflow: " + std::to_string(static_cast<int>(policy.overflow)),
                 "wait, drop_oldest or drop_newest");
  require_policy(
      policy.failure == SinkFailurePolicy::end_stream || policy.failure == SinkFailurePolicy::skip,
      "failure: " + std::to_string(static_cast<int>(policy.failure)), "end_stream or skip");
  require_policy(
      policy.retry_after >= std::chrono::nanoseconds(0) && policy.retry_after <= kLongestPause,
      "retry_after: " + std::to_string(policy.retry_after.count()) + " ns", "within 0 to 1 day");
}

std::unique_ptr<Sink> make_buffered_sink(std::shared_ptr<Sink> sink, SinkPolicy policy) {
  validate(policy);
  if (!sink)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the sink of a buffered sink is null; give one to write to");
  if (!policy.clock) policy.clock = std::make_shared<detail::SteadyClock>();
  if (policy.failure == SinkFailurePolicy::skip) sink->allow_losses();
  return std::make_unique<BufferedSink>(std::move(sink), std::move(policy));
}

}  // namespace vcap
