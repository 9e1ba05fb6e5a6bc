// SPDX-License-Identifier: Apache-2.0
#include "streams/lineup.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::vector<CapsuleInfo> infos_of(const Slots& slots) {
  std::vector<CapsuleInfo> infos;
  for (const std::shared_ptr<CapsuleSlot>& slot : slots) infos.push_back(slot->capsule->info());
  return infos;
}

Program program_of(const Plan& plan, const Slots& slots) {
  Program program;
  std::map<std::string, std::string> givers;
  for (const Plan::Step& step : plan.steps()) {
    const std::shared_ptr<CapsuleSlot>& slot = slots[step.capsule];
    program.push_back({.slot = slot, .needs = step.needs, .attribute_givers = givers});
    for (const auto& [category, values] : slot->capsule->info().output_type.attributes)
      givers[category] = step.name;
  }
  return program;
}

std::string names_of(const Slots& slots) {
  std::string names;
  for (const std::shared_ptr<CapsuleSlot>& slot : slots)
    names += (names.empty() ? "" : ", ") + slot->name();
  return names.empty() ? "it has none" : "it has " + names;
}

}  // namespace

std::size_t place_of(const Slots& slots, const std::string& capsule, const std::string& what) {
  const auto found = std::ranges::find(slots, capsule, &CapsuleSlot::name);
  if (found == slots.end())
    throw InvalidArgument(ErrorCode::invalid_argument, what + " of capsule " + capsule +
                                                           ": the pipeline has no such capsule (" +
                                                           names_of(slots) + ")");
  return static_cast<std::size_t>(found - slots.begin());
}

Lineup::Lineup(Slots given, UnfitPolicy unfit)
    : slots(std::move(given)),
      plan(infos_of(slots), unfit),
      program(std::make_shared<const Program>(program_of(plan, slots))) {}

std::shared_ptr<const Program> Lineup::program_for(
    const std::optional<std::vector<std::string>>& capsules) const {
  if (!capsules) return program;
  std::vector<bool> chosen(slots.size(), false);
  for (const std::string& name : *capsules) chosen[place_of(slots, name, "stream's choice")] = true;
  Slots some;
  for (std::size_t place = 0; place < slots.size(); ++place)
    if (chosen[place]) some.push_back(slots[place]);
  return std::make_shared<const Program>(program_of(Plan(infos_of(some)), some));
}

}  // namespace vcap
