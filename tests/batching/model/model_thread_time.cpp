// SPDX-License-Identifier: Apache-2.0
// Implements batching/thread_time.hpp with the times that the scene gives to its predict.
#include "batching/thread_time.hpp"

namespace vcap::detail {

Clock::duration thread_time() noexcept { return model::Execution::current()->self().busy; }

}  // namespace vcap::detail
