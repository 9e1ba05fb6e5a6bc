// SPDX-License-Identifier: Apache-2.0
#include "capsule/output_report.hpp"

#include <utility>

namespace vcap::detail {
namespace {

constinit thread_local OutputDemand current_output_demand;

}  // namespace

OutputScope::OutputScope(const OutputDemand& demand) noexcept { current_output_demand = demand; }

OutputScope::~OutputScope() { current_output_demand = {}; }

OutputDemand take_output_demand() noexcept { return std::exchange(current_output_demand, {}); }

}  // namespace vcap::detail
