// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/capsule_info_json.hpp"
#include "cli/access_options.hpp"
#include "cli/commands.hpp"
#include "cli/describe.hpp"
#include "cli/exit_code.hpp"
#include "vcap/capsule/device.hpp"
#include "vcap/capsule/device_mapper.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap::cli {
namespace {

int list_devices(bool as_json) {
  const std::vector<Device> devices = discover_devices();
  if (as_json) {
    std::cout << nlohmann::json(devices).dump(2) << '\n';
    return kDone;
  }
  std::size_t width = 0;
  for (const Device& device : devices) width = std::max(width, device.name.size());
  for (const Device& device : devices) {
    std::cout << std::left << std::setw(static_cast<int>(width)) << device.name << "  "
              << (device.description.empty() ? "" : device.description + " ") << '('
              << device.provider << ")\n";
  }
  return kDone;
}

/// The backends that a device mapper of vcap makes on this machine; `nullopt` for a mapper of an
/// author's own, which only its code knows. Throws DeviceError if it chooses no device.
std::optional<std::vector<std::string>> backends_of(const std::string& mapper) {
  std::vector<std::string> names;
  for (const Device& device : discover_devices()) names.push_back(device.name);
  for (const DeviceMapper& known :
       {DeviceMapper::map_to_single_cpu(), DeviceMapper::map_to_all_gpus(true),
        DeviceMapper::map_to_all_gpus(false)})
    if (known.name() == mapper) return known.map(names);
  return std::nullopt;
}

int list_mapped(const CapsuleInfo& info, bool as_json) {
  const std::string& mapper = info.device_mapper.name();
  const auto backends = backends_of(mapper);
  if (as_json) {
    nlohmann::json json{{"capsule", info.name}, {"device_mapper", mapper}};
    if (backends) json["backends"] = nlohmann::json::array();
    for (const std::string& one : backends.value_or(std::vector<std::string>()))
      json["backends"].push_back(device_set_members(one));
    std::cout << json.dump(2) << '\n';
  } else if (!backends) {
    std::cout << info.name << ": chosen by its own code when it is loaded, by " << printable(mapper)
              << '\n';
  } else {
    std::cout << info.name << ": " << counted(backends->size(), "backend") << ", by " << mapper
              << '\n';
    for (const std::string& one : *backends) std::cout << "  " << one << '\n';
  }
  return kDone;
}

/// Lists the devices that a capsule would get on this machine, according to its manifest.
int list_sets(const std::string& path, const LoadOptions& access, bool as_json) {
  const CapsuleInfo info = read_manifest(path, access).info;
  if (!info.device_set) return list_mapped(info, as_json);
  const DeviceSet& set = *info.device_set;
  const detail::DeviceDivision division = divide_devices(set);
  if (as_json) {
    nlohmann::json backends = nlohmann::json::array();
    for (const std::string& one : division.sets) backends.push_back(device_set_members(one));
    std::cout << nlohmann::json{{"capsule", info.name},
                                {"device_set", device_set_json(set)},
                                {"backends", std::move(backends)},
                                {"left_over", division.left_over}}
                     .dump(2)
              << '\n';
    return kDone;
  }
  std::cout << info.name << ": " << detail::division_text(division, set) << '\n';
  for (const std::string& one : division.sets) std::cout << "  " << one << '\n';
  return kDone;
}

struct DevicesArguments {
  std::string capsule;
  bool as_json = false;
  AccessArguments access;
};

}  // namespace

void add_devices(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<DevicesArguments>();
  CLI::App* command = app.add_subcommand("devices", "Lists the devices that capsules can run on");
  command->add_flag("--json", arguments->as_json, "As JSON");
  command
      ->add_option("--capsule", arguments->capsule,
                   "Shows which devices that capsule would get; runs none of its code")
      ->type_name("PATH");
  add_access_options(*command, arguments->access);
  command->footer("The environment variable VCAP_DEVICES, such as CPU:0,GPU:0, replaces the list.");
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      if (arguments->capsule.empty()) return list_devices(arguments->as_json);
      return list_sets(arguments->capsule, read_access(arguments->access), arguments->as_json);
    };
  });
}

}  // namespace vcap::cli
