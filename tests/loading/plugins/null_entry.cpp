// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/plugin.hpp"

extern "C" VCAP_EXPORT const vcap::CapsulePlugin* vcap_capsule_plugin() { return nullptr; }
