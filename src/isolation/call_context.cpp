// SPDX-License-Identifier: Apache-2.0
#include "isolation/call_context.hpp"

#include "capsule/floating_modes.hpp"
#include "vcap/batching/batch_stream_scope.hpp"

namespace vcap {

CallContext current_call_context() noexcept {
  return {.stream = BatchStreamScope::current(), .floating_modes = detail::floating_modes()};
}

CallContextScope::CallContextScope(const CallContext& context) noexcept
    : stream_(context.stream), modes_(detail::floating_modes()) {
  detail::set_floating_modes(context.floating_modes);
}

CallContextScope::~CallContextScope() { detail::set_floating_modes(modes_); }

}  // namespace vcap
