// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vcap/capsule/device.hpp"

// The providers that discover_devices() starts with. Each takes the path that it reads, so that
// tests can supply their own.

namespace vcap::detail {

/// CPU:0, described by the first "model name" of a file like /proc/cpuinfo.
class CpuProvider final : public DeviceProvider {
 public:
  explicit CpuProvider(std::filesystem::path cpuinfo = "/proc/cpuinfo",
                       std::filesystem::path nodes = "/sys/devices/system/node");
  std::string name() const override;
  std::vector<Device> discover() const override;

 private:
  std::filesystem::path cpuinfo_;
  std::filesystem::path nodes_;
};

/// GPU:0… in the order of their PCI addresses, like the numbers of CUDA_DEVICE_ORDER=PCI_BUS_ID.
/// Reads the folders of NVIDIA's kernel driver, without linking any of its libraries.
class NvidiaProvider final : public DeviceProvider {
 public:
  explicit NvidiaProvider(std::filesystem::path gpus = "/proc/driver/nvidia/gpus");
  std::string name() const override;
  std::vector<Device> discover() const override;

 private:
  std::filesystem::path gpus_;
};

/// NPU:0… for every accelerator of the kernel's accel class that Intel's driver serves.
class IntelNpuProvider final : public DeviceProvider {
 public:
  explicit IntelNpuProvider(std::filesystem::path accel = "/sys/class/accel");
  std::string name() const override;
  std::vector<Device> discover() const override;

 private:
  std::filesystem::path accel_;
};

}  // namespace vcap::detail
