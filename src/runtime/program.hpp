// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vcap/capsule/capsule.hpp"
#include "vcap/runtime/plan.hpp"

namespace vcap {

/// A step of the plan, ready to be run. Thread safety: value; read-only once a stream uses it.
struct ProgramStep {
  std::shared_ptr<Capsule> capsule{};
  NodeDescription needs{};
  bool stateful = false;
  /// By attribute category that the input lists: the last capsule before this one that gives it.
  std::map<std::string, std::string> attribute_givers{};
};

using Program = std::vector<ProgramStep>;
/// The options of every step for one frame, in the program's order.
using StepOptions = std::vector<OptionValues>;

}  // namespace vcap
