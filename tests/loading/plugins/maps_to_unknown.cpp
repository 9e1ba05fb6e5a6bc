// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() {
    vcap::CapsuleInfo info = fixture::info("dreamer");
    info.device_mapper = {"dream", [](const auto&) { return std::vector<std::string>{"GPU:9"}; }};
    return info;
  }
};

VCAP_CAPSULE(Capsule)
