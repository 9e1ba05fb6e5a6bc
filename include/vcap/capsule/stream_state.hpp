// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"

namespace vcap {

/// What a stream's state, or its parameters, are made from. Thread safety: value.
struct StreamInfo {
  std::string id{};
  /// The stream's configuration for this capsule, as given when the stream was opened.
  JsonValue config = JsonValue::object();
  /// For everything random in the state or the parameters. For a stored video it is the same in
  /// every run, so that runs repeat exactly. It differs at each opening of a live source, and at
  /// each reset of a state that is not bounded (CapsuleInfo::warmup).
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
  /// StreamInfo::saved. It is JSON, because the two share no types, of at most 64 levels of lists
  /// and objects. Null, the default: the other version starts again. [frame worker, between two
  /// frames]
  virtual nlohmann::json save() const;
};

class BaseStreamParameters;

namespace detail {

/// Throws TypeMismatch with both types and the remedy.
[[noreturn]] VCAP_EXPORT void refuse_state(const BaseStreamState& state,
                                           const std::type_info& wanted);

}  // namespace detail

/// The state as the type that the capsule's factory makes, in Backend::process_frame and
/// process_window:
///
///     Tracks& tracks = vcap::state_of<Tracks>(state);
///
/// Throws TypeMismatch, which names both types and the remedy, if CapsuleInfo::stream_state is
/// absent or makes another type. Thread-safe.
template <std::derived_from<BaseStreamState> State>
State& state_of(BaseStreamState& state) {
  static_assert(!std::is_base_of_v<BaseStreamParameters, State>,
                "frames that run in parallel share a stream's parameters; read them by "
                "vcap::parameters_of<Parameters>(state)");
  if (State* const own = dynamic_cast<State*>(&state)) return *own;
  detail::refuse_state(state, typeid(State));
}
template <std::derived_from<BaseStreamState> State>
const State& state_of(const BaseStreamState& state) {
  if (const State* const own = dynamic_cast<const State*>(&state)) return *own;
  detail::refuse_state(state, typeid(State));
}

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
