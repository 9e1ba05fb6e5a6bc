// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() {
    vcap::CapsuleInfo info = fixture::info("encoder");
    info.output_type.encoded = true;
    return info;
  }
};

VCAP_CAPSULE(Capsule)
