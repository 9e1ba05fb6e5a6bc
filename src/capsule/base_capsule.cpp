// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/base_capsule.hpp"

namespace vcap {

// Defined here, so that the type information is in the library, shared by host and capsules.
BaseCapsule::~BaseCapsule() = default;

void BaseCapsule::fetch_resources(const CapsuleFiles&) {}

}  // namespace vcap
