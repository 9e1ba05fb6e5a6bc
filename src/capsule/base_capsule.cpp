// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/base_capsule.hpp"

namespace vcap {

// Here, so that the type information is the library's and one for host and capsules.
BaseCapsule::~BaseCapsule() = default;

void BaseCapsule::fetch_resources(const CapsuleFiles&) {}

}  // namespace vcap
