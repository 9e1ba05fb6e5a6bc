// SPDX-License-Identifier: Apache-2.0
// Throws an int, which is no std::exception, at the place that FIXTURE_PLACE names.
#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() {
    if (std::string(FIXTURE_PLACE) == "info") throw 7;
    vcap::CapsuleInfo info = fixture::info("fixture");
    if (std::string(FIXTURE_PLACE) == "device_mapper")
      info.device_mapper = {"seven", [](const auto&) -> std::vector<std::string> { throw 7; }};
    return info;
  }
};

extern "C" VCAP_EXPORT const vcap::CapsulePlugin* vcap_capsule_plugin() {
  if (std::string(FIXTURE_PLACE) == "entry") throw 7;
  static const vcap::CapsulePlugin plugin{
      sizeof(vcap::CapsulePlugin), vcap::kApiVersion, VCAP_ABI_TAG, [] { return Capsule::info(); },
      []() -> std::unique_ptr<vcap::BaseCapsule> { return std::make_unique<Capsule>(); }};
  return &plugin;
}
