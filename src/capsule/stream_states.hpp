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

#include "capsule/fifo_mutex.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/frame.hpp"

namespace vcap::detail {

/// One opening of a stream, and the state that it has.
struct OpenStream {
  explicit OpenStream(StreamInfo given) : info(std::move(given)) {}

  const StreamInfo info;
  FifoMutex turn;
  // The rest only by whoever has the turn.
  std::unique_ptr<BaseStreamState> state{};
  std::optional<std::int64_t> made_at{};  ///< the index of the frame that the state was made for
};

/// The states of one stateful capsule's streams, by stream id.
///
/// A frame takes a Turn, works on the state within it, and lets it go. Turns of one stream come
/// one at a time, in the order asked for; those of different streams do not wait for each other.
/// Thread-safe.
class StreamStates {
 public:
  /// One frame's time alone with its stream's state. Keeps that state alive after clean_up.
  class Turn {
   public:
    BaseStreamState& state() noexcept;

   private:
    friend class StreamStates;
    explicit Turn(std::shared_ptr<OpenStream> stream);

    std::shared_ptr<OpenStream> stream_;
    std::unique_lock<FifoMutex> lock_;  // after stream_: let go before the stream may die
  };

  /// Of a stateful capsule, whose description outlives this.
  explicit StreamStates(const CapsuleInfo& capsule);
  ~StreamStates();

  /// An opening that is known here by no id. Throws InvalidArgument where its config does not fit.
  std::shared_ptr<OpenStream> make(StreamInfo info) const;
  /// Throws InvalidArgument where the stream is known already, or its config does not fit.
  std::shared_ptr<OpenStream> open(StreamInfo info);
  /// Waits until it is this frame's turn, and makes the state where it is missing or the frame
  /// does not follow the one before. A stream that was not opened is, with an empty config; throws
  /// as open() does. Throws Error (capsule_threw) where the factory fails.
  Turn take_turn(std::string_view stream_id, const Frame& frame);
  /// The same on one opening, forgotten or not.
  Turn take_turn(std::shared_ptr<OpenStream> stream, const Frame& frame) const;
  /// Forgets a stream; turns taken or waited for finish on the state that they had.
  void clean_up(std::string_view stream_id);
  /// What the stream's state saves; null where there is none, or somebody has the turn.
  nlohmann::json save(std::string_view stream_id) const;
  void clear();
  std::size_t size() const;

 private:
  std::shared_ptr<OpenStream> find_or_add(std::string_view stream_id);
  bool breaks_off(const Frame& frame) const noexcept;
  void renew(OpenStream& stream, const Frame& frame) const;

  const CapsuleInfo& capsule_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<OpenStream>, std::less<>> streams_;
};

/// The seed of a stream that was given none: the same for the same id on every machine.
std::uint64_t seed_of(std::string_view stream_id) noexcept;

}  // namespace vcap::detail
