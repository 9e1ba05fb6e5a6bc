// SPDX-License-Identifier: Apache-2.0
// Needs a function that does not exist.
#include "fixture.hpp"

extern "C" int vcap_test_function_of_nobody();

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() {
    return fixture::info("unresolved", vcap_test_function_of_nobody());
  }
};

VCAP_CAPSULE(Capsule)
