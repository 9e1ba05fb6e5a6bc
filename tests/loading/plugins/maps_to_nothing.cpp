// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() {
    vcap::CapsuleInfo info = fixture::info("picky");
    info.device_mapper = {"none", [](const auto&) { return std::vector<std::string>(); }};
    return info;
  }
};

VCAP_CAPSULE(Capsule)
