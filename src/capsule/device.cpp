// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/device_names.hpp"
#include "capsule/device_providers.hpp"
#include "capsule/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr const char* kOverride = "VCAP_DEVICES";

bool is_device_name(std::string_view name) {
  const auto colon = name.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view number = name.substr(colon + 1);
  return detail::is_identifier(name.substr(0, colon)) && !number.empty() &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string> names_of(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const Device& device : devices) names.push_back(device.name);
  return names;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::vector<Device> ask(const DeviceProvider& provider) {
  std::vector<Device> devices;
  try {
    devices = provider.discover();
  } catch (...) {
    throw DeviceError(ErrorCode::no_device,
                      "device provider " + quote(provider.name()) +
                          " failed: " + exception_text(std::current_exception()));
  }
  for (Device& device : devices)
    if (device.provider.empty()) device.provider = provider.name();
  return devices;
}

std::vector<Device> ask_all(std::span<const std::shared_ptr<const DeviceProvider>> extra) {
  std::vector<Device> found;
  const auto append = [&found](const DeviceProvider& provider) {
    for (Device& device : ask(provider)) found.push_back(std::move(device));
    detail::check_device_names(names_of(found), "device provider " + quote(provider.name()));
  };
  append(detail::CpuProvider());
  append(detail::NvidiaProvider());
  append(detail::IntelNpuProvider());
  for (const auto& provider : extra) {
    if (!provider)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "a device provider is null; give objects, or leave it out");
    append(*provider);
  }
  return found;
}

}  // namespace

namespace detail {

void check_device_names(const std::vector<std::string>& names, std::string_view where) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!is_device_name(name))
      throw DeviceError(
          ErrorCode::unknown_device,
          std::string(where) + ": " + quote(name) +
              " is not a device name; give a kind and a number, such as CPU:0 or GPU:1");
    if (!seen.insert(name).second)
      throw DeviceError(ErrorCode::unknown_device,
                        std::string(where) + ": " + name + " occurs twice; name every device once");
  }
}

}  // namespace detail

DeviceProvider::~DeviceProvider() = default;

std::string_view device_kind(std::string_view name) noexcept {
  return name.substr(0, name.find(':'));
}

std::vector<Device> discover_devices(std::span<const std::shared_ptr<const DeviceProvider>> extra) {
  const char* const override_list = std::getenv(kOverride);
  if (override_list == nullptr || *override_list == '\0') return ask_all(extra);

  const std::vector<std::string> names = split_at_commas(override_list);
  detail::check_device_names(names, kOverride);
  std::vector<Device> devices;
  devices.reserve(names.size());
  for (const std::string& name : names)
    devices.push_back({.name = name, .description = {}, .provider = kOverride});
  return devices;
}

void to_json(nlohmann::json& json, const Device& device) {
  json = {
      {"name", device.name}, {"description", device.description}, {"provider", device.provider}};
}

}  // namespace vcap
