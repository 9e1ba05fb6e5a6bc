// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/capsule/device_mapper.hpp"

namespace vcap::detail {

/// What is wrong with a set, with the remedy; empty if nothing is. Thread-safe.
std::string device_set_fault(const DeviceSet& set);

/// A machine's devices of a set's kinds, divided into sets for one backend each. Thread safety:
/// value.
struct DeviceDivision {
  std::vector<std::string> sets{};  ///< as device_set_members() splits them
  std::vector<std::string> left_over{};
};

/// As many disjoint sets as the devices allow, in their order; within a set, the kinds are in the
/// order of `set`. Thread-safe.
VCAP_EXPORT DeviceDivision divide(const std::vector<std::string>& devices, const DeviceSet& set);

/// For people: "2 GPUs and 1 NPU". Thread-safe.
VCAP_EXPORT std::string set_text(const DeviceSet& set);
/// For people: "2 backends of 2 GPUs; left over: GPU:4". Thread-safe.
VCAP_EXPORT std::string division_text(const DeviceDivision& division, const DeviceSet& set);

}  // namespace vcap::detail
