// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// The order in which capsules see a frame, and why.
///
/// A capsule comes after every capsule that provides what it needs: names, attributes, encoding,
/// tracking, extra data. Otherwise the given order stays. Thread safety: value.
class VCAP_EXPORT Plan {
 public:
  struct Step {
    std::size_t capsule = 0;  ///< its place in the list given
    std::string name{};
    NodeDescription needs{};             ///< its input type
    NodeDescription adds{};              ///< its capability
    std::vector<std::size_t> fed_by{};   ///< places of those it comes after
    std::vector<std::string> gifts{};    ///< what each of these provides, in words
    std::vector<std::string> reasons{};  ///< one sentence each
  };

  /// Throws PlanError: unsatisfied_input (saying what nothing provides), plan_cycle (naming the
  /// capsules in it), duplicate_capsule.
  explicit Plan(const std::vector<CapsuleInfo>& capsules);

  const std::vector<Step>& steps() const noexcept { return steps_; }
  /// For people: each step with what feeds it, what it adds, and why it stands there.
  std::string explain() const;
  /// The same as a graph for Graphviz (`dot -Tsvg`): a box for each capsule, an arrow for what one
  /// provides to another.
  std::string to_dot() const;

 private:
  std::vector<Step> steps_;
};

VCAP_EXPORT void to_json(nlohmann::json& json, const Plan& plan);

}  // namespace vcap
