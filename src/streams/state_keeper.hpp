// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/thread_annotations.hpp"
#include "vcap/base/log.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap {

/// One stream's state in one capsule and in the capsules that replace it. The state is open from
/// open() until the capsule's last frame has passed.
///
/// Thread safety: thread-safe; but serve() is called for one frame at a time, in order.
class StateKeeper {
 public:
  /// `apart`: opens states beside others with the stream's id (Capsule::open_apart).
  explicit StateKeeper(StreamInfo info, bool apart = false)
      : info_(std::move(info)), apart_(apart) {}
  /// Calls close().
  ~StateKeeper() { close(); }
  StateKeeper(const StateKeeper&) = delete;
  StateKeeper& operator=(const StateKeeper&) = delete;

  /// Opens the stream in the capsule that will serve its next frames. `continues`: with the state
  /// of the capsule before. `config`: in place of that of the stream's info; null: that one. The
  /// same capsule with another config gets a new state. Returns the number to pass to serve() for
  /// those frames. Throws InvalidArgument if the stream is already open in that capsule, or the
  /// config does not fit.
  std::uint64_t open(std::shared_ptr<Capsule> capsule, bool continues,
                     std::shared_ptr<const JsonValue> config = nullptr);
  /// Reverts an open() whose number no frame has used.
  void cancel(std::uint64_t number) noexcept;
  /// Called before each frame, with the number of its capsule; returns the opening to use. If
  /// another capsule served the frame before, its state goes over to this one, if `continues` says
  /// so, and is closed there.
  StreamHandle serve(std::uint64_t number) noexcept;
  /// No frame will get a new number. From now on, the frames in flight find their states only by
  /// their handles, so the stream may be opened again in the same capsules, by another keeper.
  void retire() noexcept;
  /// Closes the stream in every capsule that still has it; no frame may follow.
  void close() noexcept;

 private:
  struct Place {
    std::uint64_t number = 0;
    std::shared_ptr<Capsule> capsule{};
    StreamHandle handle{};  ///< null while the stream is open in the capsule with another config
    bool continues = false;
    std::shared_ptr<const JsonValue> config{};
  };
  /// What must not happen under the lock: a place may be the last to hold its capsule, and the log
  /// hook is the host's. Declare it before the lock.
  struct Aftermath {
    ~Aftermath();
    std::vector<Place> passed{};
    std::vector<std::pair<LogLevel, std::string>> messages{};
  };
  nlohmann::json saved_state_of(const Place& place, Aftermath& after) const noexcept
      VCAP_REQUIRES(mutex_);
  StreamInfo info_of(const Place& place) const VCAP_REQUIRES(mutex_);
  StreamHandle open_in(Capsule& capsule, StreamInfo info) const VCAP_REQUIRES(mutex_);
  void reopen(const Place& place, StreamInfo info, Aftermath& after) noexcept VCAP_REQUIRES(mutex_);
  void reopen_next(const Capsule& capsule, Aftermath& after) noexcept VCAP_REQUIRES(mutex_);
  void carry_on(const Place& from, const Place& to, Aftermath& after) const noexcept
      VCAP_REQUIRES(mutex_);
  void forget(const Place& place, Aftermath& after) const noexcept VCAP_REQUIRES(mutex_);
  bool is_open_in(const Capsule& capsule) const noexcept VCAP_REQUIRES(mutex_);

  const StreamInfo info_;
  Mutex mutex_;
  bool apart_ VCAP_GUARDED_BY(mutex_);
  std::uint64_t next_ VCAP_GUARDED_BY(mutex_) = 0;
  std::vector<Place> places_
      VCAP_GUARDED_BY(mutex_);  ///< in the order of serving; the first one serves
};

}  // namespace vcap
