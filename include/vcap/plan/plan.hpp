// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// What happens to capsules that cannot stand in a plan: an input that nothing provides, a ring, a
/// name that is there already.
enum class UnfitPolicy {
  refuse,    ///< PlanError
  leave_out  ///< they are left out, and those that needed them in turn, until the rest fits: of a
             ///< ring the last one given, of capsules of one name all but the first
};

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
    /// What it sees of a stream beyond a frame by itself, in words: its state, window and batches.
    std::vector<std::string> over_time{};
  };
  struct LeftOut {
    std::size_t capsule = 0;  ///< its place in the list given
    std::string name{};
    std::string reason{};  ///< what PlanError would have said
  };
  /// Two capsules that can run, but of which one spoils what the other gives: its result replaces
  /// the other's, comes besides it, or cannot be taken.
  struct Conflict {
    std::size_t first = 0;   ///< the place of the one that comes earlier in the plan
    std::size_t second = 0;  ///< the place of the other
    std::string text{};      ///< one sentence
  };

  /// Throws PlanError, unless they are to be left out: unsatisfied_input (saying what nothing
  /// provides), plan_cycle (naming the capsules in it), duplicate_capsule.
  explicit Plan(const std::vector<CapsuleInfo>& capsules, UnfitPolicy unfit = UnfitPolicy::refuse);

  const std::vector<Step>& steps() const noexcept { return steps_; }
  /// In the order in which they were found out.
  const std::vector<LeftOut>& left_out() const noexcept { return left_out_; }
  /// In the order of the plan.
  const std::vector<Conflict>& conflicts() const noexcept { return conflicts_; }
  /// For how many frames behind its own a record waits at most, since windows reach there.
  std::int64_t look_ahead() const noexcept { return look_ahead_; }
  /// For people: each step with what feeds it, what it adds, what it sees over time, why it stands
  /// there and what it conflicts with; then those that are left out, and why.
  std::string explain() const;
  /// The same as a graph for Graphviz (`dot -Tsvg`): a box for each capsule, dashed where it is
  /// left out, an arrow for what one provides to another, a dashed red one for a conflict.
  std::string to_dot() const;

 private:
  std::vector<Step> steps_;
  std::vector<LeftOut> left_out_;
  std::vector<Conflict> conflicts_;
  std::int64_t look_ahead_ = 0;
};

/// Schema "vcap.plan/1".
VCAP_EXPORT void to_json(nlohmann::json& json, const Plan& plan);

}  // namespace vcap
