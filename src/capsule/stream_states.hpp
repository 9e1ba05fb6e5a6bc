// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/thread_annotations.hpp"
#include "capsule/fifo_mutex.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/frame.hpp"

namespace vcap::detail {

/// One opening of a stream, and its state.
struct OpenStream {
  explicit OpenStream(StreamInfo given) : info(std::move(given)) {}

  const StreamInfo info;
  FifoMutex turn;
  std::unique_ptr<BaseStreamState> state VCAP_GUARDED_BY(turn){};
  /// The index of the frame that the state was made for.
  std::optional<std::int64_t> made_at VCAP_GUARDED_BY(turn){};
};

/// What the state of an opening saves; null if there is no state, or another call has the turn.
VCAP_EXPORT nlohmann::json saved_state(OpenStream& stream);

/// The states of one stateful capsule's streams, by stream id.
///
/// A frame takes a Turn, uses the state, and releases the Turn. Turns of one stream come one at a
/// time, in the order of the requests; those of different streams do not wait for each other.
/// Thread-safe.
class StreamStates {
 public:
  /// Exclusive use of a stream's state for one frame. Keeps that state alive after clean_up.
  class Turn {
   public:
    BaseStreamState& state() noexcept;

   private:
    friend class StreamStates;
    explicit Turn(std::shared_ptr<OpenStream> stream);

    std::shared_ptr<OpenStream> stream_;
    std::unique_lock<FifoMutex> lock_;  // after stream_: unlocks before the stream may die
  };

  /// For a stateful capsule, whose description must outlive this object.
  explicit StreamStates(const CapsuleInfo& capsule);
  ~StreamStates();

  /// Makes an opening that is not registered by its id. Throws InvalidArgument if its config does
  /// not fit.
  std::shared_ptr<OpenStream> make(StreamInfo info) const;
  /// Throws InvalidArgument if the stream is registered already, or its config does not fit.
  std::shared_ptr<OpenStream> open(StreamInfo info);
  /// Waits for this frame's turn, and makes the state if there is no state or the frame does not
  /// follow the one before. If the stream is not open, opens it with an empty config; throws like
  /// open(). Throws Error (capsule_threw) if the factory fails.
  Turn take_turn(std::string_view stream_id, const Frame& frame);
  /// The same for one opening, even if it was forgotten.
  Turn take_turn(std::shared_ptr<OpenStream> stream, const Frame& frame) const;
  /// Forgets a stream; turns that were taken or waited for still use their state.
  void clean_up(std::string_view stream_id);
  /// saved_state() of the stream; null if it is not open.
  nlohmann::json save(std::string_view stream_id) const;
  void clear();
  std::size_t size() const;

 private:
  std::shared_ptr<OpenStream> find_or_add(std::string_view stream_id) VCAP_EXCLUDES(mutex_);
  bool breaks_off(const Frame& frame) const noexcept;
  void renew(OpenStream& stream, const Frame& frame) const VCAP_REQUIRES(stream.turn);

  const CapsuleInfo& capsule_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<OpenStream>, std::less<>> streams_ VCAP_GUARDED_BY(mutex_);
};

/// The default seed of a stream: the same for the same id on every machine.
VCAP_EXPORT std::uint64_t seed_of(std::string_view stream_id) noexcept;

}  // namespace vcap::detail
