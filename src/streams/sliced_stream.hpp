// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_annotations.hpp"
#include "streams/compiled_plan.hpp"
#include "streams/pipeline_stream.hpp"
#include "streams/stream_account.hpp"
#include "vcap/sources/random_access.hpp"

namespace vcap {

class SliceGate;

/// A stored stream that is cut into slices. Some slices run at once, each as a stream of its own.
///
/// A thread of its own opens slices in order and delivers the records of the head, the first slice
/// that is not done. Records of later slices wait for their turn; if too many wait, their slice
/// stops reading. If frames differ from the video's index, the video is damaged; the stream then
/// goes on in order from there. Thread safety: thread-safe.
class SlicedStream final : public PipelineStream {
 public:
  struct Plan {
    std::shared_ptr<const RandomAccess> access{};  ///< null: one slice, read from the beginning
    std::vector<Slice> slices{};
    std::int64_t frames = 0;       ///< of the whole stream, as far as is known
    bool ends_with_source = true;  ///< `frames` is all that the source has
    NullRows nulls{};
    std::size_t at_once = 1;        ///< slices that run at once
    std::size_t records_kept = 64;  ///< records that wait in a slice before it stops reading
    bool keeps_pixels = true;       ///< a sink or the host may look at pixels of records
  };

  SlicedStream(std::string id, std::unique_ptr<Source> source,
               std::vector<std::shared_ptr<Sink>> sinks, StreamRules rules, StreamServices services,
               std::shared_ptr<const CompiledPlan> compiled_plan, StepOptions options, Plan plan);
  ~SlicedStream() override;

  void start() override;
  void stop() noexcept override;
  std::optional<FrameRecord> next() override;
  std::optional<FrameRecord> try_next() override;
  void discard_records() override;
  void wait_until_ended() override;
  void join() override;
  std::int64_t set_option(const std::string& capsule, const std::string& option,
                          OptionValue value) override;
  StreamReport report() const override;
  StreamStats stats() const override;
  StreamSettings settings() const override;
  std::shared_ptr<Stream> changeable() override { return nullptr; }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  /// What the streams of slices hand over. It outlives them and this object: their callbacks hold
  /// it.
  struct Inbox {
    struct Slot {
      std::deque<std::pair<FrameRecord, time_point>> records{};
      bool ended = false;
    };
    Mutex mutex;
    CondVar changed;
    std::map<std::size_t, Slot> slots VCAP_GUARDED_BY(mutex){};  ///< of open slices, by number
  };
  /// A slice that was opened.
  struct Part {
    std::shared_ptr<Stream> stream{};  ///< null if it could not be opened
    std::shared_ptr<SliceGate> gate{};
    StreamFailure failure{};  ///< why it could not be opened
  };
  using Parts = std::map<std::size_t, Part>;

  void run();
  // These require the lock. Those that are not const may release it in between.
  bool step() VCAP_REQUIRES(inbox_->mutex);
  bool can_open() const VCAP_REQUIRES(inbox_->mutex);
  void open_next() VCAP_REQUIRES(inbox_->mutex);
  bool deliver_one() VCAP_REQUIRES(inbox_->mutex);
  std::optional<FrameRecord> take_offered() VCAP_REQUIRES(inbox_->mutex);
  bool end_head() VCAP_REQUIRES(inbox_->mutex);
  void go_on_in_order(const StreamFailure& why) VCAP_REQUIRES(inbox_->mutex);
  void close_parts(const char* reason) VCAP_REQUIRES(inbox_->mutex);
  void fail(const StreamFailure& failure) VCAP_REQUIRES(inbox_->mutex);
  // These must not have it.
  Part open(std::size_t number, const Slice& slice);
  bool deliver(const FrameRecord& record, time_point read_at) VCAP_EXCLUDES(inbox_->mutex);

  const std::vector<std::shared_ptr<Sink>> sinks_;
  const StreamServices services_;
  const std::shared_ptr<const CompiledPlan> compiled_plan_;
  const StepOptions options_;
  Mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_ once it runs

  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  // Its mutex also guards what follows.
  CondVar over_;
  CondVar offer_;  ///< for next(): a record is offered, or the end
  Plan plan_;      ///< changed only by the stream's thread, with the lock
  /// Not read yet; for damaged videos; null once used. Only the stream's thread uses it.
  std::unique_ptr<Source> in_order_;
  Parts parts_ VCAP_GUARDED_BY(inbox_->mutex);  ///< slices that are not done, by number
  /// The number of the first part; its records come next.
  std::size_t head_ VCAP_GUARDED_BY(inbox_->mutex) = 0;
  std::size_t next_slice_ VCAP_GUARDED_BY(inbox_->mutex) = 0;
  std::int64_t last_index_ VCAP_GUARDED_BY(inbox_->mutex) = -1;  ///< of the last delivered record
  bool stopping_ VCAP_GUARDED_BY(inbox_->mutex) = false;
  bool discarding_ VCAP_GUARDED_BY(inbox_->mutex) = false;
  bool delivering_ VCAP_GUARDED_BY(inbox_->mutex) = false;  ///< a thread that pulls is delivering
  /// For next() to take.
  std::optional<std::pair<FrameRecord, time_point>> offered_ VCAP_GUARDED_BY(inbox_->mutex);
  StreamAccount account_ VCAP_GUARDED_BY(inbox_->mutex);
};

}  // namespace vcap
