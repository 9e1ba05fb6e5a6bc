// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "streams/program.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {

/// Looks up a capsule's place; `what` stands in the message, such as "options". Throws
/// InvalidArgument.
std::size_t place_of(const Slots& slots, const std::string& capsule, const std::string& what);

/// What a pipeline's streams go through: the capsules of the host, as they stand now. Thread
/// safety: value.
struct Lineup {
  /// Throws PlanError.
  Lineup(Slots given, UnfitPolicy unfit);

  /// For a stream that goes through these alone. Throws InvalidArgument, PlanError.
  std::shared_ptr<const Program> program_for(
      const std::optional<std::vector<std::string>>& capsules) const;

  Slots slots;  ///< in the host's order
  Plan plan;
  std::shared_ptr<const Program> program;
};

}  // namespace vcap
