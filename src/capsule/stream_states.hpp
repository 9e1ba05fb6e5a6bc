// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "capsule/passed_on.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/stream_parameters.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/frame.hpp"

namespace vcap::detail {

/// One opening of a stream, and its state or parameters.
struct OpenStream {
  explicit OpenStream(StreamInfo given) : info(std::move(given)) {}

  const StreamInfo info;
  FifoMutex turn;
  std::unique_ptr<BaseStreamState> state VCAP_GUARDED_BY(turn){};
  /// The index of the frame that the state was made for.
  std::optional<std::int64_t> made_at VCAP_GUARDED_BY(turn){};
  /// What the capsule was given since the state was made, and may have kept in it; also what the
  /// version before it was given, if the state continues that version's.
  PassedOn passed_on VCAP_GUARDED_BY(turn){};
  /// Of a stateless capsule; made at the first frame.
  std::unique_ptr<BaseStreamParameters> parameters VCAP_GUARDED_BY(turn){};
  /// The same once they are made, for frames that then need no turn.
  std::atomic<BaseStreamParameters*> made_parameters{nullptr};
};

/// What the state of an opening saves; null if there is no state, or another call has the turn.
VCAP_EXPORT nlohmann::json saved_state(OpenStream& stream);
/// Calls `read` with the state of an opening, once it has the turn; false if there is no state.
VCAP_EXPORT bool read_state(OpenStream& stream,
                            const std::function<void(const BaseStreamState&)>& read);
/// What the capsule of `from` was given counts as given to that of `to` too, whose state continues
/// the one of `from`. Does nothing if another call has the turn of `from`. `to` has had no frame.
VCAP_EXPORT void continue_passed_on(OpenStream& from, OpenStream& to);

/// Makes the state or the parameters of a stream with the config of `info`, and drops them. Throws
/// InvalidArgument (invalid_config) if the config does not fit the capsule's schema, or if its
/// factory throws or returns null. Runs code of the capsule. Thread-safe.
VCAP_EXPORT void try_stream_config(const CapsuleInfo& capsule, StreamInfo info);

/// The states of one stateful capsule's streams, or the parameters of a stateless one's, by stream
/// id.
///
/// A frame of a stateful capsule takes a Turn, uses the state, and releases the Turn. Turns of one
/// stream come one at a time, in the order of the requests; those of different streams do not wait
/// for each other. Thread-safe.
class StreamStates {
 public:
  /// Exclusive use of a stream's state for one frame. Keeps that state alive after clean_up.
  class Turn {
   public:
    BaseStreamState& state() noexcept;
    PassedOn& passed_on() noexcept;

   private:
    friend class StreamStates;
    explicit Turn(std::shared_ptr<OpenStream> stream);

    std::shared_ptr<OpenStream> stream_;
    std::unique_lock<FifoMutex> lock_;  // after stream_: unlocks before the stream may die
  };

  /// Shared use of a stream's parameters. Keeps them alive after clean_up.
  class Parameters {
   public:
    BaseStreamParameters& get() const noexcept { return *stream_->made_parameters; }

   private:
    friend class StreamStates;
    explicit Parameters(std::shared_ptr<OpenStream> stream) : stream_(std::move(stream)) {}

    std::shared_ptr<OpenStream> stream_;
  };

  /// For a capsule with states or parameters, whose description must outlive this object.
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
  /// The stream's parameters, made by the first frame that asks for them; others wait for that one
  /// only. Opens the stream as take_turn() does. Throws Error (capsule_threw) if the factory fails;
  /// a later frame then tries again.
  Parameters parameters(std::string_view stream_id, const Frame& frame);
  /// The same for one opening, even if it was forgotten.
  Parameters parameters(std::shared_ptr<OpenStream> stream, const Frame& frame) const;
  /// Forgets a stream; turns that were taken or waited for still use their state.
  void clean_up(std::string_view stream_id);
  /// Null if the stream is not open.
  std::shared_ptr<OpenStream> find(std::string_view stream_id) const VCAP_EXCLUDES(mutex_);
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
