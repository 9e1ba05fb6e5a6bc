// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/engine_devices.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "vcap/backends/engine.hpp"
#include "vcap/capsule/device.hpp"

namespace vcap {
namespace {

using Names = std::vector<std::string>;

/// Whether the engine's device, such as GPU or GPU.1, is what vcap calls GPU:0 or GPU:1.
bool is_same(std::string_view engine_device, std::string_view device) {
  const std::size_t dot = engine_device.find('.');
  const std::size_t colon = device.find(':');
  if (engine_device.substr(0, dot) != device.substr(0, colon)) return false;
  const std::string_view number =
      dot == std::string_view::npos ? "0" : engine_device.substr(dot + 1);
  // All CPUs are one device to an engine, so the number does not matter.
  return device.starts_with("CPU") || device.substr(colon + 1) == number;
}

Names usable(const Names& devices, const Names& engine_devices) {
  Names found;
  std::ranges::copy_if(devices, std::back_inserter(found), [&](const std::string& device) {
    return std::ranges::any_of(engine_devices, [&](const std::string& engine_device) {
      return is_same(engine_device, device);
    });
  });
  return found;
}

Names best_kind(const Names& devices) {
  for (const std::string_view kind : {"NPU", "GPU", "CPU"}) {
    Names chosen;
    std::ranges::copy_if(devices, std::back_inserter(chosen),
                         [&](const std::string& device) { return device_kind(device) == kind; });
    if (kind == "CPU" && chosen.size() > 1) chosen.resize(1);
    if (!chosen.empty()) return chosen;
  }
  return {};
}

DeviceMapper mapper(std::string name, std::string engine) {
  return {std::move(name), [engine = std::move(engine)](const Names& devices) {
            return best_kind(usable(devices, find_engine(engine)->devices()));
          }};
}

}  // namespace

DeviceMapper map_to_openvino_devices() { return mapper("map_to_openvino_devices", "openvino"); }

DeviceMapper map_to_engine_devices(std::string engine) {
  std::string name = "map_to_engine_devices(" + engine + ")";
  return mapper(std::move(name), std::move(engine));
}

}  // namespace vcap
