// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/device_mapper.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "capsule/device_sets.hpp"
#include "capsule/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/device.hpp"

namespace vcap {
namespace {

using Names = std::vector<std::string>;

Names all_of_kind(const Names& devices, std::string_view kind) {
  Names chosen;
  std::ranges::copy_if(devices, std::back_inserter(chosen),
                       [kind](const std::string& name) { return device_kind(name) == kind; });
  return chosen;
}

Names first_cpu(const Names& devices) {
  Names cpus = all_of_kind(devices, "CPU");
  if (cpus.size() > 1) cpus.resize(1);
  return cpus;
}

std::string needs_text(const DeviceSet& set) {
  std::string text = std::to_string(set.count) + " of kind " + set.kind;
  for (const DeviceSet& other : set.with) text += " and " + needs_text(other);
  return text;
}

Names device_sets(const Names& devices, const DeviceSet& set) {
  Names sets = detail::divide(devices, set).sets;
  if (sets.empty())
    throw DeviceError(ErrorCode::no_device,
                      "a backend needs a device set of " + needs_text(set) +
                          ", but the devices found do not fill a set: " + quote_list(devices) +
                          "; use a machine with enough devices, or list them in VCAP_DEVICES");
  return sets;
}

void check_choice(const std::string& choice, const Names& found, const std::string& mapper) {
  std::set<std::string> seen;
  for (const std::string& member : device_set_members(choice)) {
    if (std::ranges::find(found, member) == found.end())
      throw DeviceError(ErrorCode::unknown_device,
                        "device mapper " + mapper + " chose " + quote(member) +
                            ", which is not among the devices found: " + quote_list(found));
    if (!seen.insert(member).second)
      throw DeviceError(ErrorCode::unknown_device, "device mapper " + mapper + " chose the set " +
                                                       quote(choice) + ", which has " + member +
                                                       " twice");
  }
}

}  // namespace

DeviceMapper::DeviceMapper() : DeviceMapper(map_to_single_cpu()) {}

DeviceMapper::DeviceMapper(std::string name, Function function)
    : name_(std::move(name)), function_(std::move(function)) {
  if (name_.empty() || !function_)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "a device mapper needs a name and a function; name " + quote(name_) +
                              (function_ ? "" : " has no function"));
}

DeviceMapper DeviceMapper::map_to_single_cpu() {
  return {"map_to_single_cpu", [](const Names& devices) { return first_cpu(devices); }};
}

DeviceMapper DeviceMapper::map_to_all_gpus(bool cpu_fallback) {
  return {cpu_fallback ? "map_to_all_gpus" : "map_to_all_gpus(cpu_fallback=false)",
          [cpu_fallback](const Names& devices) {
            Names gpus = all_of_kind(devices, "GPU");
            return gpus.empty() && cpu_fallback ? first_cpu(devices) : gpus;
          }};
}

DeviceMapper DeviceMapper::map_to_device_sets(std::string kind, int count) {
  if (!detail::is_identifier(kind) || count < 1)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "map_to_device_sets(" + quote(kind) + ", " + std::to_string(count) +
                              "): give a kind such as GPU, and a count of 1 or more");
  return map_to_device_sets(DeviceSet{.kind = std::move(kind), .count = count});
}

DeviceMapper DeviceMapper::map_to_device_sets(DeviceSet set) {
  if (const std::string fault = detail::device_set_fault(set); !fault.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the set given to map_to_device_sets() " + fault);
  std::string name = "map_to_device_sets(" + set.kind + "," + std::to_string(set.count);
  for (const DeviceSet& other : set.with)
    name += "," + other.kind + "," + std::to_string(other.count);
  return {name + ")",
          [set = std::move(set)](const Names& devices) { return device_sets(devices, set); }};
}

std::vector<std::string> DeviceMapper::map(const std::vector<std::string>& devices) const {
  Names chosen = function_(devices);
  if (chosen.empty())
    throw DeviceError(ErrorCode::no_device,
                      "device mapper " + name_ +
                          " chose none of the devices found: " + quote_list(devices) +
                          "; use a machine with a suitable device, or list one in VCAP_DEVICES");
  for (const std::string& choice : chosen) check_choice(choice, devices, name_);
  return chosen;
}

std::vector<std::string> device_set_members(std::string_view device) {
  std::vector<std::string> members;
  for (;;) {
    const auto plus = device.find('+');
    members.emplace_back(device.substr(0, plus));
    if (plus == std::string_view::npos) return members;
    device.remove_prefix(plus + 1);
  }
}

}  // namespace vcap
