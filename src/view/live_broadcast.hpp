// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/thread_annotations.hpp"
#include "vcap/image/annotator.hpp"
#include "vcap/records/frame_record.hpp"
#include "view/live_picture.hpp"
#include "view/live_records.hpp"
#include "view/live_viewer.hpp"

namespace vcap {

/// Draws and encodes what somebody looks at, in a thread of its own, once for each picture and
/// width, and hands it to those who look. Thread safety: thread-safe.
class LiveBroadcast {
 public:
  using time_point = LiveRecords::time_point;
  /// Makes what draws on the pictures of a stream.
  using MakeAnnotator = std::function<std::unique_ptr<Annotator>(const std::string& stream)>;

  /// Called by the thread.
  struct Callbacks {
    /// The ids of the streams.
    std::function<std::set<std::string>()> streams{};
    /// The state as a message for a client that may see these streams (absent: all), with the log
    /// from that line on.
    std::function<nlohmann::json(const std::optional<std::set<std::string>>& allowed,
                                 std::uint64_t log_from)>
        state{};
    std::function<std::uint64_t()> next_log_line{};
    /// Some viewer has something to send.
    std::function<void()> wake{};
  };

  /// `records`: outlives it. `make_annotator`: called by the thread.
  LiveBroadcast(LiveRecords& records, MakeAnnotator make_annotator, Callbacks callbacks);
  ~LiveBroadcast();
  LiveBroadcast(const LiveBroadcast&) = delete;
  LiveBroadcast& operator=(const LiveBroadcast&) = delete;

  /// Ends the thread; no callback is called after that. Idempotent. [control]
  void stop();

  std::shared_ptr<LiveViewer> add_viewer(LiveInterest interest,
                                         std::optional<std::set<std::string>> allowed)
      VCAP_EXCLUDES(mutex_);
  std::size_t viewers() const VCAP_EXCLUDES(mutex_);
  /// The newest ones; each call is a look at the stream for two seconds, so a first call has none.
  std::optional<LivePicture> picture(const std::string& stream, int width) VCAP_EXCLUDES(mutex_);
  std::optional<FrameRecord> record(const std::string& stream) VCAP_EXCLUDES(mutex_);
  /// Drops what there is of a stream that has ended.
  void forget(const std::string& stream) VCAP_EXCLUDES(mutex_);

 private:
  using Viewers = std::vector<std::shared_ptr<LiveViewer>>;
  struct Newest {
    FrameRecord record{};
    std::map<int, LivePicture> pictures{};
  };

  void run(const std::stop_token& stop);
  void pause(const std::stop_token& stop) VCAP_EXCLUDES(mutex_);
  void publish(LiveRecords::Taken taken);
  std::map<int, LivePicture> encode(const LiveRecords::Taken& taken);
  void look(const Viewers& viewers, const std::set<std::string>& streams, time_point now);
  void send_states(const Viewers& viewers, bool only_new);
  Viewers present_viewers() VCAP_EXCLUDES(mutex_);
  void forget_ended(const std::set<std::string>& streams) VCAP_EXCLUDES(mutex_);

  LiveRecords& records_;
  const MakeAnnotator make_annotator_;
  const Callbacks callbacks_;
  // Only of the thread.
  std::map<std::string, std::unique_ptr<Annotator>> annotators_{};
  LiveCanvas canvas_{};
  std::uint64_t log_from_ = 0;

  mutable Mutex mutex_;
  StoppableCondVar never_;  ///< for a pause that only the stop ends
  Viewers viewers_ VCAP_GUARDED_BY(mutex_);
  std::map<std::string, Newest> newest_ VCAP_GUARDED_BY(mutex_);
  std::jthread thread_{};
};

}  // namespace vcap
