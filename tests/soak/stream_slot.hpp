// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "vcap/pipeline/pipeline.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::soak {

/// The sums over all streams that have ended. Thread safety: thread-compatible.
struct Accounts {
  std::int64_t streams = 0;
  std::int64_t failed = 0;  ///< streams whose source failed
  std::int64_t given = 0;   ///< frames
  std::int64_t recorded = 0;
  std::int64_t errors = 0;  ///< records in which a capsule failed
  std::map<std::string, std::int64_t> drops{};
  std::string fault{};  ///< the fault of the first stream with wrong counts
};

/// One place of the pipeline that always has a stream. When one ends, another of the same kind
/// begins, so that the resources of the process depend little on chance. Thread safety:
/// thread-compatible.
class StreamSlot {
 public:
  enum class Kind { file, camera, feed, pulled_feed };

  struct Settings {
    std::string footage{};
    std::chrono::milliseconds capsule_deadline{500};
    std::chrono::milliseconds longest_outage{1000};
  };

  StreamSlot(Pipeline& pipeline, int number, const Settings& settings);
  ~StreamSlot();
  StreamSlot(const StreamSlot&) = delete;
  StreamSlot& operator=(const StreamSlot&) = delete;

  /// Opens a stream; the previous one must be closed.
  void open(std::mt19937& engine);
  /// Whether its source has ended by itself.
  bool has_ended() const;
  /// Ends the stream and adds its counts to `accounts`.
  void close(Accounts& accounts);

 private:
  std::unique_ptr<Source> make_source(std::mt19937& engine);
  void push_frames();
  void pull_records();

  Pipeline& pipeline_;
  const int number_;
  const Kind kind_;
  const Settings settings_;
  std::string id_{};
  int opened_ = 0;
  std::shared_ptr<std::atomic<std::int64_t>> given_{}, written_{};
  std::shared_ptr<std::atomic<bool>> in_order_{};
  std::unique_ptr<FrameFeed> feed_{};
  std::jthread pusher_{}, puller_{};
};

}  // namespace vcap::soak
