// SPDX-License-Identifier: Apache-2.0
// Its functions must not be reached, so there are none.
#include "vcap/capsule/plugin.hpp"

extern "C" VCAP_EXPORT const vcap::CapsulePlugin* vcap_capsule_plugin() {
  static const vcap::CapsulePlugin plugin{sizeof(vcap::CapsulePlugin), vcap::kApiVersion,
                                          "vcap9.9-gxxabi1", nullptr, nullptr};
  return &plugin;
}
