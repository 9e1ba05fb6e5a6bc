// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <typeinfo>

#include "vcap/base/export.hpp"
#include "vcap/capsule/stream_state.hpp"

namespace vcap {

/// What a stateless capsule makes of one stream's config; authors derive from it.
///
/// CapsuleInfo::stream_parameters makes it once for each opening of a stream, at the first frame
/// that needs it. All frames of the stream share it, in parallel and in any order, so it does not
/// change. Backends get it in the argument of the stream's state, which is why it derives from
/// BaseStreamState; parameters_of() gives it in its own type. The capsule owns it. Thread safety:
/// its const functions must be thread-safe.
class VCAP_EXPORT BaseStreamParameters : public BaseStreamState {
 public:
  ~BaseStreamParameters() override;
};

namespace detail {

/// Throws TypeMismatch with both types and the remedy.
[[noreturn]] VCAP_EXPORT void refuse_parameters(const BaseStreamState& given,
                                                const std::type_info& wanted);

}  // namespace detail

/// The stream's parameters as the type that the capsule's factory makes, in
/// Backend::process_frame, process_window, process_frames and process_windows:
///
///     const Thresholds& thresholds = vcap::parameters_of<Thresholds>(state);
///
/// Throws TypeMismatch, which names both types and the remedy, if CapsuleInfo::stream_parameters is
/// absent or makes another type. Thread-safe.
template <std::derived_from<BaseStreamParameters> Parameters>
const Parameters& parameters_of(const BaseStreamState& state) {
  if (const auto* const own = dynamic_cast<const Parameters*>(&state)) return *own;
  detail::refuse_parameters(state, typeid(Parameters));
}

/// Makes a stream's parameters. [frame worker, concurrent for different streams]
using StreamParametersFactory =
    std::function<std::unique_ptr<BaseStreamParameters>(const StreamInfo&)>;

/// A factory of `Parameters`, whose constructor gets the StreamInfo. Its config has the defaults of
/// CapsuleInfo::stream_config_schema, and fits it.
template <std::derived_from<BaseStreamParameters> Parameters>
requires std::constructible_from<Parameters, const StreamInfo&> StreamParametersFactory
make_stream_parameters() {
  return [](const StreamInfo& info) -> std::unique_ptr<BaseStreamParameters> {
    return std::make_unique<Parameters>(info);
  };
}

}  // namespace vcap
