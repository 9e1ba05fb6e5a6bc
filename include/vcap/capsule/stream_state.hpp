// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// What a stream's state is made from. Thread safety: value.
struct StreamInfo {
  std::string id{};
  /// The stream's configuration for this capsule, as given when the stream was opened.
  nlohmann::json config = nlohmann::json::object();
  /// For all that is random in the state. The same for a stored video in every run, so that runs
  /// repeat exactly; another at each opening of a live source, and at each reset of a state that is
  /// not bounded (CapsuleInfo::warmup).
  std::uint64_t seed = 0;
  /// What the state of the version before saved (BaseStreamState::save), where a capsule is
  /// replaced while the stream runs; null: there is nothing to go on from.
  nlohmann::json saved{};
  int saved_by = 0;  ///< that version's number; 0 where nothing was saved
};

/// What a capsule remembers of one stream; authors derive from it.
///
/// Made by the capsule's factory at the stream's first frame and again at every discontinuity;
/// dropped by Capsule::clean_up. Owned by the capsule, lent to Backend::process_frame.
/// Thread safety: thread-compatible; vcap never lets two frames of a stream see it at once.
class VCAP_EXPORT BaseStreamState {
 public:
  BaseStreamState() = default;
  BaseStreamState(const BaseStreamState&) = delete;
  BaseStreamState& operator=(const BaseStreamState&) = delete;
  virtual ~BaseStreamState();

  /// What another version of the capsule may go on from, which finds it in StreamInfo::saved: the
  /// two share no types, so it is JSON. Null, as by default: the other begins anew.
  /// [frame worker, between two frames]
  virtual nlohmann::json save() const;
};

/// Makes a state. [frame worker, concurrent]
using StreamStateFactory = std::function<std::unique_ptr<BaseStreamState>(const StreamInfo&)>;

/// A factory of `State`, which is made from the StreamInfo where it has such a constructor, else
/// from nothing.
template <std::derived_from<BaseStreamState> State>
StreamStateFactory make_stream_state() {
  return [](const StreamInfo& info) -> std::unique_ptr<BaseStreamState> {
    if constexpr (std::constructible_from<State, const StreamInfo&>)
      return std::make_unique<State>(info);
    else
      return std::make_unique<State>();
  };
}

}  // namespace vcap
