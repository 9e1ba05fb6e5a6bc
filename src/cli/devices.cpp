// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "vcap/capsule/device.hpp"

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

}  // namespace

void add_devices(CLI::App& app, Action& chosen) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "Lists the devices that capsules can run on");
  command->add_flag("--json", *as_json, "As a JSON array");
  command->footer("The environment's VCAP_DEVICES, such as CPU:0,GPU:0, takes the list's place.");
  command->callback([as_json, &chosen] { chosen = [as_json] { return list_devices(*as_json); }; });
}

}  // namespace vcap::cli
