// SPDX-License-Identifier: Apache-2.0
// Throws an object that is no std::exception.
#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  Capsule() { throw 7; }
};

VCAP_CAPSULE(Capsule)
