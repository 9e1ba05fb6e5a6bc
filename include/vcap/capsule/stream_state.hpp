// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"

namespace vcap {

/// What a stream's state is made from. Thread safety: value.
struct StreamInfo {
  std::string id{};
  /// The stream's configuration for this capsule, as given when the stream was opened.
  JsonValue config = JsonValue::object();
  /// For everything random in the state. For a stored video it is the same in every run, so that
  /// runs repeat exactly. It differs at each opening of a live source, and at each reset of a state
  /// that is not bounded (CapsuleInfo::warmup).
  std::uint64_t seed = 0;
  /// What the previous version's state saved (BaseStreamState::save), if a capsule is replaced
  /// while the stream runs; null: there is no saved state.
  JsonValue saved{};
  int saved_by = 0;  ///< that version's number; 0 if nothing was saved
};

/// What a capsule remembers of one stream; authors derive from it.
///
/// The capsule's factory makes it at the stream's first frame and again at discontinuities, except
/// those in CapsuleInfo::keeps_state_at. Capsule::clean_up drops it. The capsule owns it and lends
/// it to Backend::process_frame. Thread safety: thread-compatible; vcap never gives it to two
/// frames of a stream at once.
class VCAP_EXPORT BaseStreamState {
 public:
  BaseStreamState() = default;
  BaseStreamState(const BaseStreamState&) = delete;
  BaseStreamState& operator=(const BaseStreamState&) = delete;
  virtual ~BaseStreamState();

  /// The data from which another version of the capsule may continue; that version gets it in
  /// StreamInfo::saved. It is JSON, because the two share no types. Null, the default: the other
  /// version starts again. [frame worker, between two frames]
  virtual nlohmann::json save() const;
};

/// Makes a state. [frame worker, concurrent]
using StreamStateFactory = std::function<std::unique_ptr<BaseStreamState>(const StreamInfo&)>;

/// A factory of `State`. It passes the StreamInfo if `State` has such a constructor; else it uses
/// the default constructor.
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
