// SPDX-License-Identifier: Apache-2.0
#include "capsule/device_sets.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "capsule/text.hpp"
#include "vcap/capsule/device.hpp"

namespace vcap::detail {
namespace {

/// The kinds of the set, the first one first.
std::vector<DeviceSet> kinds_of(const DeviceSet& set) {
  std::vector<DeviceSet> kinds{{.kind = set.kind, .count = set.count}};
  kinds.insert(kinds.end(), set.with.begin(), set.with.end());
  return kinds;
}

/// The devices of one kind.
struct Share {
  std::size_t count = 0;  ///< for each set
  std::vector<std::string> devices{};
};

}  // namespace

std::string device_set_fault(const DeviceSet& set) {
  std::set<std::string> seen;
  for (const auto& [kind, count, with] : kinds_of(set)) {
    if (!is_identifier(kind))
      return "has the kind " + quote(kind) + "; use letters, digits and underscores, such as GPU";
    if (count < 1)
      return "has a count of " + std::to_string(count) + "; a backend needs 1 device or more";
    if (!with.empty())
      return "has a `with` within its `with`; list all further kinds in the first one";
    if (!seen.insert(kind).second)
      return "has the kind " + kind + " twice; give each kind once, with its count";
  }
  return {};
}

DeviceDivision divide(const std::vector<std::string>& devices, const DeviceSet& set) {
  std::vector<Share> shares;
  std::size_t sets = std::numeric_limits<std::size_t>::max();
  for (const DeviceSet& kind : kinds_of(set)) {
    Share& share = shares.emplace_back(Share{.count = static_cast<std::size_t>(kind.count)});
    for (const std::string& device : devices)
      if (device_kind(device) == kind.kind) share.devices.push_back(device);
    sets = std::min(sets, share.devices.size() / share.count);
  }
  DeviceDivision division;
  for (std::size_t i = 0; i < sets; ++i) {
    std::string& joined = division.sets.emplace_back();
    for (const Share& share : shares)
      for (std::size_t j = i * share.count; j < (i + 1) * share.count; ++j)
        joined += (joined.empty() ? "" : "+") + share.devices[j];
  }
  for (const Share& share : shares)
    for (std::size_t j = sets * share.count; j < share.devices.size(); ++j)
      division.left_over.push_back(share.devices[j]);
  return division;
}

std::string set_text(const DeviceSet& set) {
  std::string text;
  for (const DeviceSet& kind : kinds_of(set))
    text +=
        (text.empty() ? "" : " and ") + counted(static_cast<std::size_t>(kind.count), kind.kind);
  return text;
}

std::string division_text(const DeviceDivision& division, const DeviceSet& set) {
  std::string text = counted(division.sets.size(), "backend") + " of " + set_text(set);
  for (const std::string& device : division.left_over)
    text += (&device == &division.left_over.front() ? "; left over: " : ", ") + device;
  return text;
}

}  // namespace vcap::detail
