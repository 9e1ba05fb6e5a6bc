// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// The devices that one backend gets together. Thread safety: value.
struct DeviceSet {
  std::string kind{};  ///< [A-Za-z0-9_]+, such as GPU
  int count = 1;       ///< from 1
  /// Devices of further kinds in the same set, such as the NPU beside two GPUs. Each kind once, and
  /// none of them has a `with` of its own.
  std::vector<DeviceSet> with{};
  bool operator==(const DeviceSet&) const = default;
};

/// Chooses the devices that get a backend each, from the names found.
///
/// Part of a capsule's description; called once, at load. vcap/backends/engine_devices.hpp has
/// mappers that ask an inference engine which devices it supports. A returned string is a name from
/// the list, or several joined by '+' (a device set for one backend). Thread safety: value; calling
/// it is as thread-safe as its function.
class VCAP_EXPORT DeviceMapper {
 public:
  using Function = std::function<std::vector<std::string>(const std::vector<std::string>&)>;

  /// The same as map_to_single_cpu().
  DeviceMapper();
  /// A mapper of the author's own; the manifest contains `name`. Throws InvalidArgument if the name
  /// or the function is empty.
  DeviceMapper(std::string name, Function function);

  /// The first CPU.
  static DeviceMapper map_to_single_cpu();
  /// Every GPU; if there is no GPU and `cpu_fallback` is true, the first CPU.
  static DeviceMapper map_to_all_gpus(bool cpu_fallback = true);
  /// As many disjoint sets of `count` devices of `kind` as possible, in order; the devices left
  /// over stay unused. Throws InvalidArgument unless the count is 1 or more; mapping throws
  /// DeviceError (no_device) if no set can be filled. The same as CapsuleInfo::device_set.
  static DeviceMapper map_to_device_sets(std::string kind, int count);
  /// The same for sets of several kinds: as many as the kind with the fewest devices fills.
  static DeviceMapper map_to_device_sets(DeviceSet set);

  const std::string& name() const& noexcept { return name_; }
  std::string name() && noexcept { return std::move(name_); }

  /// One string for each backend. Throws DeviceError, which lists the devices found: no_device if
  /// the result is empty, unknown_device if a string names a device that is not in the list.
  std::vector<std::string> map(const std::vector<std::string>& devices) const;

 private:
  std::string name_;
  Function function_;
};

/// The names in a device set: {"GPU:0", "GPU:1"} of "GPU:0+GPU:1".
VCAP_EXPORT std::vector<std::string> device_set_members(std::string_view device);

}  // namespace vcap
