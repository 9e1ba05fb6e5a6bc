// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_annotations.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/record_batch.hpp"
#include "cluster/record_sender.hpp"
#include "records/message_pump.hpp"
#include "vcap/base/clock.hpp"
#include "vcap/records/publisher.hpp"

namespace vcap {

/// The records of a stream in the hands of one owner, which are gathered to batches. Made by
/// RecordOutlet::begin(). Thread safety: thread-safe.
class RecordLane {
 public:
  RecordLane(const StreamEpoch& epoch, std::string worker)
      : batch_(epoch, std::move(worker)), epoch_(epoch) {}

 private:
  friend class RecordOutlet;

  Mutex mutex_;  ///< held while a batch is written to the spool; before that of RecordOutlet
  RecordBatch batch_ VCAP_GUARDED_BY(mutex_);
  const StreamEpoch epoch_;
  // Guarded by the mutex of the outlet.
  CondVar changed_;            ///< when all is settled
  std::uint64_t sent_ = 0;     ///< messages that are in the spool, or were
  std::uint64_t settled_ = 0;  ///< those that are delivered, refused or lost
  bool is_superseded_ = false;
};

/// The way of a worker's records to the broker: they are gathered to batches by stream, which wait
/// in a spool on the disk until the broker has them. Thread safety: thread-safe.
class RecordOutlet {
 public:
  struct Settings {
    std::string worker{};
    SpoolSettings spool{};
    /// Records wait for so long for further ones.
    std::chrono::nanoseconds batch_time = std::chrono::seconds(1);
    std::size_t batch_bytes = 64 << 10;
    std::shared_ptr<Clock> clock{};  ///< null: the machine's steady clock
    /// Called when an owner's message was refused, because the stream has another owner. [thread of
    /// the spool]
    std::function<void()> on_superseded{};
  };

  /// What became of the records.
  struct Counts {
    std::uint64_t records = 0;   ///< that were added
    std::uint64_t messages = 0;  ///< that they became so far
    /// Of messages; `refused`: they came from an owner that was replaced.
    PublisherStats published{};
  };

  /// What an earlier process left in the spool is sent first. Throws OutputError, InvalidArgument.
  RecordOutlet(const std::shared_ptr<Cluster>& cluster, Settings settings);
  ~RecordOutlet();
  RecordOutlet(const RecordOutlet&) = delete;
  RecordOutlet& operator=(const RecordOutlet&) = delete;

  /// An owner begins; `sequence`: of its first message.
  std::shared_ptr<RecordLane> begin(const StreamEpoch& epoch, std::uint64_t sequence)
      VCAP_EXCLUDES(mutex_);
  /// `record`: an object of JSON, without a newline.
  void add(RecordLane& lane, std::string_view record, std::int64_t frame_index,
           std::chrono::nanoseconds pts) VCAP_EXCLUDES(mutex_);
  /// The owner ends: sends the rest, and waits for it. Gives up if no message of any owner was
  /// settled for that time, and after ten times as long. Returns whether all is settled; what is
  /// not stays in the spool.
  bool end(RecordLane& lane, std::chrono::nanoseconds wait) VCAP_EXCLUDES(mutex_);
  /// Whether a message of the owner was refused, because the stream has another one.
  bool is_superseded(const RecordLane& lane) const VCAP_EXCLUDES(mutex_);
  /// Waits until the spool is empty, at most that time. Returns whether it is.
  bool drain(std::chrono::nanoseconds wait, const std::stop_token& stop) VCAP_EXCLUDES(mutex_);

  Counts counts() const VCAP_EXCLUDES(mutex_);

 private:
  /// The pump's thread may outlive the outlet, if the broker hangs.
  struct Hook {
    explicit Hook(RecordOutlet* given) : outlet(given) {}
    Mutex mutex;  ///< held while the outlet is called
    RecordOutlet* outlet VCAP_GUARDED_BY(mutex);
  };

  void settled(const StreamEpoch& epoch, bool delivered) VCAP_EXCLUDES(mutex_);
  void flush(RecordLane& lane) VCAP_REQUIRES(lane.mutex_) VCAP_EXCLUDES(mutex_);
  void keep_flushing() VCAP_EXCLUDES(mutex_);

  const Settings settings_;  ///< its clock is set
  const std::shared_ptr<Hook> hook_;
  RecordSender* sender_ = nullptr;  ///< the pump's
  std::shared_ptr<MessagePump> pump_;
  mutable Mutex mutex_;
  CondVar changed_;  ///< for the flusher
  CondVar settled_;  ///< after each message, for drain()
  std::map<StreamEpoch, std::shared_ptr<RecordLane>> lanes_ VCAP_GUARDED_BY(mutex_);
  struct Due {
    Clock::time_point time{};
    std::shared_ptr<RecordLane> lane{};
  };
  std::deque<Due> due_ VCAP_GUARDED_BY(mutex_);  ///< batches that have begun, by their times
  std::uint64_t records_ VCAP_GUARDED_BY(mutex_) = 0;
  std::uint64_t messages_ VCAP_GUARDED_BY(mutex_) = 0;
  std::uint64_t settlements_ VCAP_GUARDED_BY(mutex_) = 0;
  bool ending_ VCAP_GUARDED_BY(mutex_) = false;
  std::thread flusher_;
};

}  // namespace vcap
