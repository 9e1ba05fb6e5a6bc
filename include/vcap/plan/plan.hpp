// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// What happens to capsules that do not fit into a plan: nothing provides their input, they form a
/// cycle, or their name is already used.
enum class UnfitPolicy {
  refuse,    ///< PlanError
  leave_out  ///< leaves them out, then those that need them, until the rest fits. Of a cycle, it
             ///< leaves out the last given one; of capsules with the same name, all but the first
};

/// The order in which capsules see a frame, and the reasons.
///
/// A capsule comes after every capsule that provides something it needs: names, attributes,
/// encoding, tracking, extra data, pictures. Otherwise the given order stays. Thread safety: value.
class VCAP_EXPORT Plan {
 public:
  /// A capsule of the plan, and why it has its place.
  struct Step {
    std::size_t capsule = 0;  ///< index in the given list
    std::string name;
    NodeDescription needs;  ///< its input type
    NodeDescription adds;   ///< its capability
    std::vector<PictureDescription> takes_pictures;
    std::vector<PictureDescription> gives_pictures;
    std::vector<std::size_t> fed_by;    ///< indexes of the capsules that it comes after
    std::vector<std::string> supplies;  ///< what each of these provides, in words
    std::vector<std::string> reasons;   ///< one sentence each
    /// What it uses of a stream beyond the single frame, in words: its state, window and batches.
    std::vector<std::string> over_time;
  };
  /// A capsule that does not run, by UnfitPolicy::leave_out.
  struct LeftOut {
    std::size_t capsule = 0;  ///< index in the given list
    std::string name;
    std::string reason;  ///< the message that PlanError would have
  };
  /// Two capsules that can both run, but one replaces, duplicates or rejects the result of the
  /// other.
  struct Conflict {
    std::size_t first = 0;   ///< index of the capsule that is earlier in the plan
    std::size_t second = 0;  ///< index of the other capsule
    std::string text;        ///< one sentence
  };

  /// With UnfitPolicy::refuse, throws PlanError: unsatisfied_input (saying what is missing),
  /// plan_cycle (naming the capsules in it), duplicate_capsule, duplicate_picture, or type_mismatch
  /// (a picture is not as another capsule takes it; naming both).
  explicit Plan(const std::vector<CapsuleInfo>& capsules, UnfitPolicy unfit = UnfitPolicy::refuse);

  const std::vector<Step>& steps() const& noexcept { return steps_; }
  /// So that `for (const auto& step : pipeline.plan().steps())` refers into no plan that is gone.
  std::vector<Step> steps() && noexcept { return std::move(steps_); }
  /// In the order in which they were found.
  const std::vector<LeftOut>& left_out() const& noexcept { return left_out_; }
  std::vector<LeftOut> left_out() && noexcept { return std::move(left_out_); }
  /// In plan order.
  const std::vector<Conflict>& conflicts() const& noexcept { return conflicts_; }
  std::vector<Conflict> conflicts() && noexcept { return std::move(conflicts_); }
  /// The maximum number of later frames that a record waits for, because windows include them.
  std::int64_t look_ahead() const noexcept { return look_ahead_; }
  /// The plan as text: for each step what feeds it, what it adds, what it uses over time, why it is
  /// there and its conflicts; then the capsules that were left out, and why.
  std::string explain() const;
  /// The plan as a graph for Graphviz (`dot -Tsvg`): a box for each capsule, dashed if it is left
  /// out; an arrow for what one provides to another; a dashed red arrow for a conflict.
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
