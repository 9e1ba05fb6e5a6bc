// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() { return fixture::info("../person"); }
};

VCAP_CAPSULE(Capsule)
