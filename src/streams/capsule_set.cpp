// SPDX-License-Identifier: Apache-2.0
#include "streams/capsule_set.hpp"

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

CompiledPlan compile(const Plan& plan, const Slots& slots) {
  CompiledPlan compiled_plan;
  std::map<std::string, std::string> providers;
  for (const Plan::Step& step : plan.steps()) {
    const std::shared_ptr<CapsuleSlot>& slot = slots[step.capsule];
    compiled_plan.push_back({.slot = slot, .needs = step.needs, .attribute_providers = providers});
    for (const auto& [category, values] : slot->capsule->info().output_type.attributes)
      providers[category] = step.name;
  }
  return compiled_plan;
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

CapsuleSet::CapsuleSet(Slots given, UnfitPolicy unfit)
    : slots(std::move(given)),
      plan(infos_of(slots), unfit),
      compiled_plan(std::make_shared<const CompiledPlan>(compile(plan, slots))) {}

std::shared_ptr<const CompiledPlan> CapsuleSet::compile_for(
    const std::optional<std::vector<std::string>>& capsules) const {
  if (!capsules) return compiled_plan;
  std::vector<bool> chosen(slots.size(), false);
  for (const std::string& name : *capsules) chosen[place_of(slots, name, "stream's choice")] = true;
  Slots some;
  for (std::size_t place = 0; place < slots.size(); ++place)
    if (chosen[place]) some.push_back(slots[place]);
  return std::make_shared<const CompiledPlan>(compile(Plan(infos_of(some)), some));
}

}  // namespace vcap
