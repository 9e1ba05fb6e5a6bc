// SPDX-License-Identifier: Apache-2.0
// The host must refuse it before it calls its functions, so it has none.
#include "vcap/capsule/plugin.hpp"

extern "C" VCAP_EXPORT const vcap::CapsulePlugin* vcap_capsule_plugin() {
  static const vcap::CapsulePlugin plugin{3 * sizeof(int), vcap::kApiVersion, VCAP_ABI_TAG, nullptr,
                                          nullptr};
  return &plugin;
}
