// SPDX-License-Identifier: Apache-2.0
#include "capsule/device_sets.hpp"

#include "vcap/capsule/device.hpp"

namespace vcap::detail {
namespace {

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

DeviceDivision divide(const std::vector<std::string>& devices, const DeviceSet& set) {
  const auto size = static_cast<std::size_t>(set.count);
  DeviceDivision division;
  std::vector<std::string>& waiting = division.left_over;
  for (const std::string& device : devices) {
    if (device_kind(device) != set.kind) continue;
    waiting.push_back(device);
    if (waiting.size() < size) continue;
    std::string& joined = division.sets.emplace_back();
    for (const std::string& member : waiting) joined += (joined.empty() ? "" : "+") + member;
    waiting.clear();
  }
  return division;
}

std::string division_text(const DeviceDivision& division, const DeviceSet& set) {
  std::string text = counted(division.sets.size(), "backend") + " of " +
                     counted(static_cast<std::size_t>(set.count), set.kind);
  for (const std::string& device : division.left_over)
    text += (&device == &division.left_over.front() ? "; left over: " : ", ") + device;
  return text;
}

}  // namespace vcap::detail
