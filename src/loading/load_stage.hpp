// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/error.hpp"

namespace vcap {

/// Runs a stage of loading, and notes the stage in errors that leave it.
template <class Call>
decltype(auto) at_stage(LoadStage stage, Call call) {
  try {
    return call();
  } catch (CapsuleLoadError& error) {
    error.note_stage(stage);
    throw;
  }
}

}  // namespace vcap
