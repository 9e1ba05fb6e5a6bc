// SPDX-License-Identifier: Apache-2.0
// The host must refuse it before it calls its functions, so it has none.
#include "vcap/capsule/plugin.hpp"

extern "C" VCAP_EXPORT const vcap::CapsulePlugin* vcap_capsule_plugin() {
  static const vcap::CapsulePlugin plugin{sizeof(vcap::CapsulePlugin), vcap::kApiVersion,
                                          "vcap9.9-gxxabi1", nullptr, nullptr};
  return &plugin;
}
