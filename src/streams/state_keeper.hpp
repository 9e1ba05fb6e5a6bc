// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap {

/// One stream's state in one capsule, and in those that replace it: open from the first frame's
/// announcement until the last one has passed.
///
/// Thread safety: open() beside serve(), which is for one frame at a time.
class VCAP_EXPORT StateKeeper {
 public:
  /// `apart`: its openings are beside others of the stream's id (Capsule::open_apart).
  explicit StateKeeper(StreamInfo info, bool apart = false)
      : info_(std::move(info)), apart_(apart) {}
  /// As close().
  ~StateKeeper() { close(); }
  StateKeeper(const StateKeeper&) = delete;
  StateKeeper& operator=(const StateKeeper&) = delete;

  /// Announces the stream to the capsule that will serve its frames next; `continues`: on the state
  /// of the one before. Gives the number that those frames name. Throws InvalidArgument where the
  /// stream is open there already.
  std::uint64_t open(std::shared_ptr<Capsule> capsule, bool continues);
  /// Takes back an open() of which no frame has come.
  void cancel(std::uint64_t number) noexcept;
  /// Before each frame, with the number of its capsule: where another one served the frame before,
  /// that one's state goes over to it, if it is to, and is dropped.
  /// Gives the opening that the frame is to work on.
  StreamHandle serve(std::uint64_t number) noexcept;
  /// Forgets the stream in every capsule that still has it; no frame follows.
  void close() noexcept;

 private:
  struct Place {
    std::uint64_t number = 0;
    std::shared_ptr<Capsule> capsule{};
    StreamHandle handle{};
    bool continues = false;
  };
  nlohmann::json saved_state_of(const Capsule& capsule) const noexcept;
  StreamHandle open_in(Capsule& capsule, StreamInfo info) const;
  void reopen(Capsule& capsule, StreamInfo info) noexcept;
  void forget(const Place& place) const noexcept;
  bool is_open_in(const Capsule& capsule) const noexcept;

  const StreamInfo info_;
  const bool apart_;
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::vector<Place> places_;  ///< in the order of serving; the first one serves
};

}  // namespace vcap
