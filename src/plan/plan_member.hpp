// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "vcap/base/error.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {

/// What one member provides to another. Thread safety: value.
struct Supply {
  NodeDescription nodes{};
  std::vector<std::string> pictures{};  ///< their names

  /// In words, as plan_phrases::describe(); empty if it is nothing.
  std::string text() const;
};

/// A capsule while its plan is being made.
struct PlanMember {
  std::size_t place = 0;  ///< index in the given list
  const CapsuleInfo* info = nullptr;
  NodeDescription adds{};
  /// The names that its nodes may have: those of its output type, or, without these, those of the
  /// nodes that reach it.
  std::vector<std::string> names{};
  /// What other members provide, by their position among the members.
  std::map<std::size_t, Supply> fed_by{};
};

using Members = std::vector<PlanMember>;

/// The member that does not fit into the plan, and why.
struct PlanFault {
  ErrorCode code;
  std::size_t position = 0;
  std::string text{};
};

/// The node names that `provider` may give and `consumer` takes; without a list it takes any.
std::vector<std::string> names_between(const PlanMember& provider, const PlanMember& consumer);

/// The conflicts between the results of two capsules; `order`: positions of members.
std::vector<Plan::Conflict> conflicts_of(const std::vector<PlanMember>& members,
                                         const std::vector<std::size_t>& order);

}  // namespace vcap
