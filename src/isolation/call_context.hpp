// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/batch_stream_hash.hpp"
#include "isolation/capsule_call.hpp"
#include "isolation/wire.hpp"

namespace vcap {

/// What a thread that calls a capsule has set, and the thread that runs the capsule's code must
/// have, too. Thread safety: value.
struct CallContext {
  std::uint64_t stream = 0;  ///< BatchStreamScope::current()
  std::uint64_t floating_modes = 0;
  WireId observer = 0;  ///< of its batches
};

void wire_fields(auto& wire, Wired<CallContext> auto& context) {
  wire(context.stream, context.floating_modes, context.observer);
}

/// The calling thread's context, without an observer. Thread-safe.
CallContext current_call_context() noexcept;

/// Sets the stream and the modes of the calling thread for its lifetime. Thread safety:
/// thread-compatible.
class CallContextScope {
 public:
  explicit CallContextScope(const CallContext& context) noexcept;
  ~CallContextScope();
  CallContextScope(const CallContextScope&) = delete;
  CallContextScope& operator=(const CallContextScope&) = delete;

 private:
  const detail::BatchStreamHashScope stream_;
  const std::uint64_t modes_;
};

}  // namespace vcap
