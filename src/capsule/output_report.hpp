// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "capsule/output_check.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/output_policy.hpp"

namespace vcap::detail {

/// What a capsule gave for one frame. Thread safety: value.
struct OutputReport {
  NodesSize size{};       ///< zeros if the policy is InvalidOutput::off
  std::string warning{};  ///< the fault that was kept; empty if there is none
};

/// How the output of one call is checked, and where the result goes. Borrows both. Thread safety:
/// value.
struct OutputDemand {
  const OutputPolicy* policy = nullptr;  ///< null: the capsule's own
  /// One for each frame of the call; empty if nobody wants them.
  std::span<OutputReport> reports{};
};

/// Sets, for its lifetime, the demand for the call of a capsule that this thread makes; nested
/// calls of other capsules have none. Thread safety: thread-compatible.
class VCAP_EXPORT OutputScope {
 public:
  explicit OutputScope(const OutputDemand& demand) noexcept;
  ~OutputScope();
  OutputScope(const OutputScope&) = delete;
  OutputScope& operator=(const OutputScope&) = delete;
};

/// The demand for the call that has just begun; from now on there is none.
OutputDemand take_output_demand() noexcept;

}  // namespace vcap::detail
