// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/eval_arguments.hpp"
#include "cli/eval_pairing.hpp"
#include "cli/eval_report.hpp"

namespace vcap::cli {

/// Scores each class, or the labels, and notes what the figures leave out. Throws UsageError if a
/// name is unknown or no names match, InvalidArgument if there is no object to find.
EvalReport score_pairing(const EvalArguments& arguments, const std::vector<EvalName>& names,
                         EvalPairing paired);

}  // namespace vcap::cli
