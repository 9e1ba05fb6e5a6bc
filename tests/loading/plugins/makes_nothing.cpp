// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

extern "C" VCAP_EXPORT const vcap::CapsulePlugin* vcap_capsule_plugin() {
  static const vcap::CapsulePlugin plugin{
      sizeof(vcap::CapsulePlugin), vcap::kApiVersion, VCAP_ABI_TAG,
      [] { return fixture::Capsule::info(); },
      []() -> std::unique_ptr<vcap::BaseCapsule> { return nullptr; }};
  return &plugin;
}
