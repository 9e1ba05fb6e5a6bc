// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// What a capsule's code gives before its setup: its description, whose functions are code too, and
/// the author's object. Moved, not copied. Thread safety: thread-compatible.
struct CapsuleCode {
  CapsuleInfo info{};
  std::unique_ptr<BaseCapsule> author{};
};

}  // namespace vcap
