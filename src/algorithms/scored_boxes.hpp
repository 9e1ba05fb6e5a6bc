// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

// Shared by the kinds of non-maximum suppression: checks, whose messages name the function, and
// sorting.

namespace vcap {

/// Throws InvalidArgument: `function: what`.
[[noreturn]] void refuse_argument(const char* function, const std::string& what);

/// Throws InvalidArgument unless the value is within 0…1.
void check_share(const char* function, const char* name, double value);

/// Throws InvalidArgument unless `count` is the number of boxes; `what` is such as "scores".
void check_count(const char* function, const char* what, std::size_t count, std::size_t boxes);

/// Throws InvalidArgument that names the first score that is NaN.
void check_scores(const char* function, std::span<const double> scores);

/// 0 to n - 1 by falling score; of equal scores the earlier comes first.
std::vector<std::size_t> by_falling_score(std::span<const double> scores);

/// The indices in groups of one label, each in the order that they have in `order`.
std::vector<std::vector<std::size_t>> grouped_by_label(std::span<const std::size_t> order,
                                                       std::span<const std::size_t> labels);

}  // namespace vcap
