// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/thread_annotations.hpp"
#include "pipeline/http_message.hpp"
#include "view/live_picture.hpp"

namespace vcap {

/// What a viewer wants to see. Thread safety: value.
struct LiveInterest {
  int width = 320;
  std::chrono::steady_clock::duration interval{};  ///< between two pictures of a stream
  std::set<std::string> streams{};                 ///< empty: all that it may see
  std::string large{};                             ///< 1280 wide and with records; empty: none
};

inline constexpr int kLargeWidth = 1280;

/// The answer to a client that looks: messages, each a line of JSON with the number of bytes that
/// follow, and these bytes (docs/live-view.md). It holds only the newest of each kind, so a client
/// that reads slowly gets fewer pictures, and is told how many it did not get. Thread safety:
/// thread-safe.
class LiveViewer final : public HttpStream {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using Text = std::shared_ptr<const std::string>;

  /// `allowed`: the streams of its token; absent: all.
  LiveViewer(LiveInterest interest, std::optional<std::set<std::string>> allowed);

  const LiveInterest& interest() const& noexcept { return interest_; }
  const std::optional<std::set<std::string>>& allowed() const& noexcept { return allowed_; }
  /// The width in which it wants the stream; `nullopt`: it does not.
  std::optional<int> width_of(const std::string& stream) const;

  /// Takes the place of a picture of the stream that was not sent yet. Ignored if it is not wanted
  /// now.
  void offer(const LivePicture& picture, time_point now) VCAP_EXCLUDES(mutex_);
  /// Of the large stream, as JSON.
  void offer_record(const FrameRecord& record, const Text& json) VCAP_EXCLUDES(mutex_);
  void offer_state(const Text& json) VCAP_EXCLUDES(mutex_);
  /// Whether it has not got a state yet.
  bool is_new() const noexcept { return is_new_; }
  /// Whether its client has gone.
  bool is_gone() const noexcept { return is_gone_; }

  // HttpStream
  Text next() override VCAP_EXCLUDES(mutex_);
  bool ended() const override { return false; }
  void closed() noexcept override { is_gone_ = true; }

 private:
  struct Stream {
    std::optional<LivePicture> picture{};
    time_point next{};  ///< pictures before it are not wanted
    std::uint64_t dropped = 0;
  };

  Text next_picture() VCAP_REQUIRES(mutex_);

  const LiveInterest interest_;
  const std::optional<std::set<std::string>> allowed_;
  std::atomic<bool> is_new_ = true;
  std::atomic<bool> is_gone_ = false;
  Mutex mutex_;
  std::map<std::string, Stream> streams_ VCAP_GUARDED_BY(mutex_);
  std::string last_ VCAP_GUARDED_BY(mutex_);  ///< the stream whose picture was sent last
  Text state_ VCAP_GUARDED_BY(mutex_);
  Text record_ VCAP_GUARDED_BY(mutex_);
  std::string record_head_ VCAP_GUARDED_BY(mutex_);
  Text body_ VCAP_GUARDED_BY(mutex_);  ///< follows the line that was sent
};

}  // namespace vcap
