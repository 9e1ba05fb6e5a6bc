// SPDX-License-Identifier: Apache-2.0
// Its functions must not be reached, so there are none.
#include "vcap/capsule/plugin.hpp"

extern "C" VCAP_EXPORT const vcap::CapsulePlugin* vcap_capsule_plugin() {
  static const vcap::CapsulePlugin plugin{3 * sizeof(int), vcap::kApiVersion, VCAP_ABI_TAG, nullptr,
                                          nullptr};
  return &plugin;
}
