// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "vcap/capsule/capsule_info.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {

/// A capsule among those that a plan is being made of.
struct PlanMember {
  std::size_t place = 0;  ///< in the list given
  const CapsuleInfo* info = nullptr;
  NodeDescription adds{};
  /// What others among the members provide, by their position there.
  std::map<std::size_t, NodeDescription> fed_by{};
};

/// The names of nodes that `giver` gives out and `taker` takes in: one without a list takes any.
std::vector<std::string> names_between(const PlanMember& giver, const PlanMember& taker);

/// Where results of one of two capsules spoil the other's; `order`: positions of members.
std::vector<Plan::Conflict> conflicts_of(const std::vector<PlanMember>& members,
                                         const std::vector<std::size_t>& order);

}  // namespace vcap
