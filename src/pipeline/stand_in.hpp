// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "vcap/capsule/capsule.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// A capsule with that description that takes its place in a plan and is never called: its recorded
/// results are used. It has neither state nor windows nor configuration. Throws InvalidCapsuleError
/// for a description that is not allowed.
std::shared_ptr<Capsule> make_stand_in(CapsuleInfo info);

}  // namespace vcap
