// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "plan/plan_member.hpp"
#include "plan/plan_phrases.hpp"

namespace vcap {
namespace {

using plan_phrases::Names;

bool is_detector(const PlanMember& member) {
  return member.info->input_type.size == NodeDescription::Size::none;
}

/// The conflicts of two members, as sentences; `first` runs before `second`.
class Comparison {
 public:
  Comparison(const PlanMember& first, const PlanMember& second) : first_(first), second_(second) {}

  Names sentences() && {
    if (is_detector(second_)) {
      // A detector makes its own nodes, without properties from other capsules.
      if (is_detector(first_)) compare_finds();
    } else {
      compare_properties();
    }
    return std::move(sentences_);
  }

 private:
  const std::string& first() const { return first_.info->name; }
  const std::string& second() const { return second_.info->name; }

  void compare_finds() {
    const Names names = plan_phrases::common(first_.info->output_type.detections,
                                             second_.info->output_type.detections);
    if (!names.empty())
      sentences_.push_back(first() + " and " + second() + " both find nodes named " +
                           plan_phrases::join(names, " and ") + ": what both find occurs twice.");
  }

  void compare_properties() {
    // Only a node that the second one takes and returns can lose what the first one gave it.
    const Names names = plan_phrases::common(names_between(first_, second_), second_.names);
    if (names.empty()) return;
    const std::string nodes = " nodes named " + plan_phrases::join(names, " and ");
    // What the second one needs and gives again, it refines.
    const Names replaced =
        plan_phrases::without(plan_phrases::common(plan_phrases::properties(first_.adds),
                                                   plan_phrases::properties(second_.adds)),
                              plan_phrases::properties(second_.info->input_type));
    for (const std::string& property : replaced) {
      const std::string deed = property == "tracked"   ? "track"
                               : property == "encoded" ? "encode"
                                                       : "give " + property + " to";
      sentences_.push_back(first() + " and " + second() + " both " + deed + nodes + ": what " +
                           second() + " gives replaces what " + first() + " gave.");
    }
  }

  const PlanMember& first_;
  const PlanMember& second_;
  Names sentences_;
};

/// Attribute values that the provider may give but the consumer's input does not list.
Names strange_values(const PlanMember& provider, const PlanMember& consumer,
                     const NodeDescription& supply) {
  Names sentences;
  for (const auto& [category, met] : supply.attributes) {
    const Names strange = plan_phrases::without(provider.adds.attributes.at(category), met);
    if (!strange.empty() && !met.empty())
      sentences.push_back("Nodes to which " + provider.info->name + " gives attribute " + category +
                          " " + plan_phrases::join(strange, " or ") + " fail at " +
                          consumer.info->name + ": its input does not list this value.");
  }
  return sentences;
}

}  // namespace

std::vector<Plan::Conflict> conflicts_of(const std::vector<PlanMember>& members,
                                         const std::vector<std::size_t>& order) {
  std::vector<Plan::Conflict> conflicts;
  for (auto second = order.begin(); second != order.end(); ++second) {
    const PlanMember& later = members[*second];
    for (auto first = order.begin(); first != second; ++first) {
      const PlanMember& earlier = members[*first];
      Names sentences = Comparison(earlier, later).sentences();
      if (const auto supply = later.fed_by.find(*first); supply != later.fed_by.end())
        for (std::string& sentence : strange_values(earlier, later, supply->second.nodes))
          sentences.push_back(std::move(sentence));
      for (std::string& sentence : sentences)
        conflicts.push_back({earlier.place, later.place, std::move(sentence)});
    }
  }
  return conflicts;
}

}  // namespace vcap
