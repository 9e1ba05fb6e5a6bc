// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::size_t, Slot> slots{};  ///< of slices that are open, by number
  };
  /// A slice that was opened.
  struct Part {
    std::shared_ptr<Stream> stream{};  ///< null if it could not be opened
    std::shared_ptr<SliceGate> gate{};
    std::exception_ptr failure{};  ///< why it could not be opened
  };
  using Parts = std::map<std::size_t, Part>;
  using Lock = std::unique_lock<std::mutex>;

  void run();
  bool step(Lock& lock);
  bool can_open() const;
  void open_next(Lock& lock);
  Part open(std::size_t number, const Slice& slice);
  bool deliver_one(Lock& lock);
  bool deliver(const FrameRecord& record, time_point read_at);
  std::optional<FrameRecord> take_offered(Lock& lock);
  bool end_head(Lock& lock);
  void go_on_in_order(Lock& lock, const std::exception_ptr& why);
  void close_parts(Lock& lock, const char* reason);
  void fail(Lock& lock, const std::exception_ptr& cause);

  const std::vector<std::shared_ptr<Sink>> sinks_;
  const std::string source_name_;
  const StreamServices services_;
  const std::shared_ptr<const CompiledPlan> compiled_plan_;
  const StepOptions options_;
  std::mutex join_mutex_;
  std::thread thread_;  ///< guarded by join_mutex_ once it runs

  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::mutex& mutex_ = inbox_->mutex;  ///< guards the inbox and what follows
  std::condition_variable over_;
  std::condition_variable offer_;  ///< for next(): a record is offered, or the end
  Plan plan_;
  std::unique_ptr<Source> in_order_;  ///< not read yet; for damaged videos; null once used
  Parts parts_;                       ///< slices that are not done, by number
  std::size_t head_ = 0;              ///< the number of the first part; its records come next
  std::size_t next_slice_ = 0;
  std::int64_t last_index_ = -1;  ///< of the last delivered record
  bool stopping_ = false;
  bool discarding_ = false;
  bool delivering_ = false;  ///< a thread that pulls is delivering
  std::optional<std::pair<FrameRecord, time_point>> offered_;  ///< for next() to take
  StreamAccount account_;
};

}  // namespace vcap
