// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// A device that a backend can run on. Thread safety: value.
struct Device {
  std::string name{};         ///< kind and number, such as "CPU:0" or "GPU:1"
  std::string description{};  ///< such as the model's name; may be empty
  std::string provider{};     ///< name of the provider that found it
  bool operator==(const Device&) const = default;
};

/// The part of a device's name before the colon: "GPU" of "GPU:1".
VCAP_EXPORT std::string_view device_kind(std::string_view name) noexcept;

/// Finds devices of one kind; hosts add their own through LoadOptions::device_providers.
class VCAP_EXPORT DeviceProvider {
 public:
  virtual ~DeviceProvider();
  virtual std::string name() const = 0;
  /// The devices found; an empty list is not an error. [control]
  virtual std::vector<Device> discover() const = 0;
};

/// CPU:0, the NVIDIA GPUs and the Intel NPUs that the kernel's drivers show, then the devices that
/// `extra` finds. If the environment variable VCAP_DEVICES ("CPU:0,GPU:0") is not empty, exactly
/// its list. Throws DeviceError: unknown_device if a name is not a kind and a number or occurs
/// twice, no_device if a provider fails.
VCAP_EXPORT std::vector<Device> discover_devices(
    std::span<const std::shared_ptr<const DeviceProvider>> extra = {});

VCAP_EXPORT void to_json(nlohmann::json& json, const Device& device);

}  // namespace vcap
