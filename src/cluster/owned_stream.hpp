// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/thread_annotations.hpp"
#include "cluster/background_thread.hpp"
#include "cluster/jet_stream.hpp"
#include "cluster/object_store.hpp"
#include "cluster/record_outlet.hpp"
#include "cluster/site_events.hpp"
#include "cluster/stream_body.hpp"
#include "cluster/stream_message.hpp"

namespace vcap {

/// A stream that this worker has claimed: its frames, records and checkpoints, in a thread of its
/// own, until it is told to end or fails. Thread safety: thread-safe.
class OwnedStream {
 public:
  struct Context {
    std::shared_ptr<Cluster> cluster{};
    MakeBody make_body{};
    RecordOutlet& outlet;
    JetStream& jet_stream;  ///< without patience, as that of the objects
    ObjectStore& objects;
    BackgroundThread& background;  ///< for checkpoints
    SiteEvents& events;
    std::chrono::nanoseconds checkpoint_time{0};
    /// An owner that runs for so long does not die because of the stream.
    std::chrono::nanoseconds stable_time{0};
    /// How long the end waits for the broker to take the last records (RecordOutlet::end).
    std::chrono::nanoseconds end_wait{0};
    /// The broker's time since 1970. [any thread]
    std::function<std::chrono::nanoseconds()> time{};
    std::function<void()> on_end{};  ///< [thread of the stream]
  };
  /// The claim, as the broker has it.
  struct Claim {
    OwnerMessage owner{};
    std::uint64_t sequence = 0;
  };
  enum class End {
    none,      ///< it runs
    released,  ///< as it was told
    lost,      ///< another worker has it
    ended,     ///< its source has ended
    failed,    ///< see reason()
  };

  OwnedStream(std::string id, StreamMessage message, Claim claim, Context context);
  /// Ends it at once, and waits.
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  std::uint64_t epoch() const noexcept { return epoch_.epoch; }

  /// Ends it soon, after the frames in progress. `why`: for the owner's record. Idempotent.
  void stop(const std::string& why) VCAP_EXCLUDES(mutex_);
  /// Another worker has the stream: its record is left alone.
  void lose() VCAP_EXCLUDES(mutex_);

  /// What an operator should know, such as that the camera is away; empty: nothing.
  std::string trouble() const VCAP_EXCLUDES(mutex_);
  End end() const VCAP_EXCLUDES(mutex_);
  std::string reason() const VCAP_EXCLUDES(mutex_);

 private:
  class Host;

  void live() VCAP_EXCLUDES(mutex_);
  void run() VCAP_EXCLUDES(mutex_);
  std::map<std::string, SavedState> read_checkpoint();
  /// What a checkpoint stores.
  struct States {
    std::int64_t frame_index = 0;
    std::map<std::string, SavedState> states{};
    std::optional<double> load{};
    bool is_stable = false;  ///< the stream has run for some time
  };
  bool begin_checkpoint(const StreamBody& body, std::int64_t frame_index) VCAP_EXCLUDES(mutex_);
  std::optional<States> states_of(const StreamBody& body, std::int64_t frame_index) const;
  void await_checkpoint() VCAP_EXCLUDES(mutex_);
  void save_checkpoint(const States& states) noexcept;
  OwnerMessage::Checkpoint store_states(const States& states);
  bool update(const std::function<void(OwnerMessage&)>& change);
  void finish(End end, const std::string& reason);
  bool is_stopping() const VCAP_EXCLUDES(mutex_);

  const std::string id_;
  const StreamMessage message_;
  const StreamEpoch epoch_;
  const Context context_;
  // Of its thread; but of that of `background` while is_saving_.
  Claim claim_;
  // Of its thread.
  std::shared_ptr<RecordLane> lane_;
  std::optional<States> last_states_;  ///< after the last record
  std::chrono::steady_clock::time_point begun_{};
  bool has_deaths_ = false;          ///< the claim counts deaths
  std::optional<double> told_load_;  ///< to the site, or being told

  mutable Mutex mutex_;
  std::unique_ptr<StreamBody> body_ VCAP_GUARDED_BY(mutex_);  ///< null before and after it runs
  End end_ VCAP_GUARDED_BY(mutex_) = End::none;
  std::string reason_ VCAP_GUARDED_BY(mutex_);
  bool stopping_ VCAP_GUARDED_BY(mutex_) = false;
  bool lost_ VCAP_GUARDED_BY(mutex_) = false;
  bool is_saving_ VCAP_GUARDED_BY(mutex_) = false;  ///< a checkpoint, in the background
  CondVar changed_;
  std::thread thread_;
};

}  // namespace vcap
