// SPDX-License-Identifier: Apache-2.0
#include "capsule/device_providers.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace vcap::detail {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// The value of the first line "key : value"; empty if there is no such line or no file.
std::string value_of(const fs::path& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::string_view view = line;
    const auto colon = view.find(':');
    if (colon != std::string_view::npos && trimmed(view.substr(0, colon)) == key)
      return std::string(trimmed(view.substr(colon + 1)));
  }
  return {};
}

/// The entries of a folder, by name; empty if it cannot be read, because a missing driver is not an
/// error.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    entries.push_back(it->path());
  std::ranges::sort(entries);
  return entries;
}

std::string numbered(std::string_view kind, std::size_t number) {
  return std::string(kind) + ":" + std::to_string(number);
}

}  // namespace

CpuProvider::CpuProvider(fs::path cpuinfo, fs::path nodes)
    : cpuinfo_(std::move(cpuinfo)), nodes_(std::move(nodes)) {}

std::string CpuProvider::name() const { return "cpu"; }

std::vector<Device> CpuProvider::discover() const {
  // ARM kernels name no model; then the description stays empty.
  std::string description = value_of(cpuinfo_, "model name");
  const auto nodes = std::ranges::count_if(entries_of(nodes_), [](const fs::path& entry) {
    const std::string file = entry.filename().string();
    return file.starts_with("node") && file.size() > 4 &&
           file.find_first_not_of("0123456789", 4) == std::string::npos;
  });
  if (nodes > 1)
    description += (description.empty() ? "" : ", ") + std::to_string(nodes) + " NUMA nodes";
  return {{.name = "CPU:0", .description = description, .provider = name()}};
}

NvidiaProvider::NvidiaProvider(fs::path gpus) : gpus_(std::move(gpus)) {}

std::string NvidiaProvider::name() const { return "nvidia"; }

std::vector<Device> NvidiaProvider::discover() const {
  std::vector<Device> devices;
  for (const fs::path& folder : entries_of(gpus_)) {
    std::error_code failed;
    if (!fs::exists(folder / "information", failed)) continue;
    devices.push_back({.name = numbered("GPU", devices.size()),
                       .description = value_of(folder / "information", "Model"),
                       .provider = name()});
  }
  return devices;
}

IntelNpuProvider::IntelNpuProvider(fs::path accel) : accel_(std::move(accel)) {}

std::string IntelNpuProvider::name() const { return "intel_npu"; }

std::vector<Device> IntelNpuProvider::discover() const {
  std::vector<Device> devices;
  for (const fs::path& folder : entries_of(accel_)) {
    std::error_code failed;
    const fs::path driver = fs::read_symlink(folder / "device" / "driver", failed);
    if (failed || driver.filename() != "intel_vpu") continue;
    devices.push_back({.name = numbered("NPU", devices.size()),
                       .description = "Intel NPU " + folder.filename().string(),
                       .provider = name()});
  }
  return devices;
}

}  // namespace vcap::detail
