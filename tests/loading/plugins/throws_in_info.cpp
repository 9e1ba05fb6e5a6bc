// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() { throw std::runtime_error("no description"); }
};

VCAP_CAPSULE(Capsule)
