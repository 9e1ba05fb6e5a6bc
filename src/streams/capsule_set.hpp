// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "streams/compiled_plan.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {

/// The capsule's place in `slots`. `what` begins the error message, such as "options". Throws
/// InvalidArgument if there is no such capsule.
std::size_t place_of(const Slots& slots, const std::string& capsule, const std::string& what);

/// The capsules that a pipeline's streams go through at present. Thread safety: value.
struct CapsuleSet {
  /// Throws PlanError.
  CapsuleSet(Slots given, UnfitPolicy unfit);

  /// The plan for a stream that goes through these capsules only. Throws InvalidArgument,
  /// PlanError.
  std::shared_ptr<const CompiledPlan> compile_for(
      const std::optional<std::vector<std::string>>& capsules) const;

  Slots slots;  ///< in the host's order
  Plan plan;
  std::shared_ptr<const CompiledPlan> compiled_plan;
};

}  // namespace vcap
