// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// The devices of one kind that one backend gets together. Thread safety: value.
struct DeviceSet {
  std::string kind{};  ///< [A-Za-z0-9_]+, such as GPU
  int count = 1;       ///< from 1
  bool operator==(const DeviceSet&) const = default;
};

/// Chooses, out of the device names found, those that get a backend each.
///
/// Plain data of a capsule's description; called once, at load. vcap/backends/engine_devices.hpp
/// has mappers that ask an inference engine what it can use. A returned string is a name out of the
/// list, or several joined by '+' (a device set that one backend gets). Thread safety: value;
/// calling it is as thread-safe as its function.
class VCAP_EXPORT DeviceMapper {
 public:
  using Function = std::function<std::vector<std::string>(const std::vector<std::string>&)>;

  /// The same as map_to_single_cpu().
  DeviceMapper();
  /// A mapper of the author's own; `name` stands in the manifest. Throws InvalidArgument where
  /// either is empty.
  DeviceMapper(std::string name, Function function);

  /// The first CPU.
  static DeviceMapper map_to_single_cpu();
  /// Every GPU; where there is none and `cpu_fallback` holds, the first CPU.
  static DeviceMapper map_to_all_gpus(bool cpu_fallback = true);
  /// As many disjoint sets of `count` devices of `kind` as there are, in order; devices that do
  /// not fill a set stay unused. Throws InvalidArgument where the count is not 1 or more; mapping
  /// throws DeviceError (no_device) where there is no set. The same as CapsuleInfo::device_set.
  static DeviceMapper map_to_device_sets(std::string kind, int count);

  const std::string& name() const noexcept { return name_; }

  /// One string for each backend. Throws DeviceError listing what was found: no_device where the
  /// answer is empty, unknown_device where a string names what is not in the list.
  std::vector<std::string> map(const std::vector<std::string>& devices) const;

 private:
  std::string name_;
  Function function_;
};

/// The names in a device set: {"GPU:0", "GPU:1"} of "GPU:0+GPU:1".
VCAP_EXPORT std::vector<std::string> device_set_members(std::string_view device);

}  // namespace vcap
