// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "vcap/capsule/capsule_info.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {

/// A capsule while its plan is being made.
struct PlanMember {
  std::size_t place = 0;  ///< index in the given list
  const CapsuleInfo* info = nullptr;
  NodeDescription adds{};
  /// What other members provide, by their position among the members.
  std::map<std::size_t, NodeDescription> fed_by{};
};

/// The node names that `provider` outputs and `consumer` takes; without a list it takes any.
std::vector<std::string> names_between(const PlanMember& provider, const PlanMember& consumer);

/// The conflicts between the results of two capsules; `order`: positions of members.
std::vector<Plan::Conflict> conflicts_of(const std::vector<PlanMember>& members,
                                         const std::vector<std::size_t>& order);

}  // namespace vcap
