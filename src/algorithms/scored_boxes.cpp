// SPDX-License-Identifier: Apache-2.0
#include "algorithms/scored_boxes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

void refuse_argument(const char* function, const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument, std::string(function) + ": " + what);
}

void check_share(const char* function, const char* name, double value) {
  if (!(value >= 0 && value <= 1))
    refuse_argument(function,
                    std::string(name) + " " + number_text(value) + " is not within 0 to 1");
}

void check_count(const char* function, const char* what, std::size_t count, std::size_t boxes) {
  if (count != boxes)
    refuse_argument(function, std::to_string(count) + " " + what + " for " + std::to_string(boxes) +
                                  " boxes; give one for each");
}

void check_scores(const char* function, std::span<const double> scores) {
  const auto bad = std::ranges::find_if(scores, [](double score) { return std::isnan(score); });
  if (bad != scores.end())
    refuse_argument(function, "score " + std::to_string(std::distance(scores.begin(), bad)) +
                                  " is NaN and cannot be sorted; leave its box out");
}

std::vector<std::size_t> by_falling_score(std::span<const double> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [scores](std::size_t i) { return scores[i]; });
  return order;
}

std::vector<std::vector<std::size_t>> grouped_by_label(std::span<const std::size_t> order,
                                                       std::span<const std::size_t> labels) {
  std::vector<std::vector<std::size_t>> groups;
  std::unordered_map<std::size_t, std::size_t> group_of;
  for (const std::size_t index : order) {
    const auto [group, is_new] = group_of.try_emplace(labels[index], groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(index);
  }
  return groups;
}

}  // namespace vcap
