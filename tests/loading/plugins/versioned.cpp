// SPDX-License-Identifier: Apache-2.0
// Built twice, as version 1 and 2 of one capsule.
#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() { return fixture::info("versioned", FIXTURE_VERSION); }
};

VCAP_CAPSULE(Capsule)
