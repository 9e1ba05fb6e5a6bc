// SPDX-License-Identifier: Apache-2.0
#include "vcap/runtime/plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names common(const Names& a, const Names& b) {
  Names both;
  std::copy_if(a.begin(), a.end(), std::back_inserter(both),
               [&b](const std::string& name) { return contains(b, name); });
  return both;
}

/// Those of `names` that an input takes which lists `wanted`; one without a list takes any.
Names taken(const Names& wanted, const Names& names) {
  return wanted.empty() ? names : common(wanted, names);
}

std::string join(const Names& names, std::string_view between = ", ") {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += between;
    text += name;
  }
  return text;
}

/// The properties of a description in words, names aside: "attribute upper_color", "tracked", ….
Names properties(const NodeDescription& description) {
  Names words;
  for (const auto& [category, values] : description.attributes)
    words.push_back("attribute " + category);
  if (description.encoded) words.emplace_back("encoded");
  if (description.tracked) words.emplace_back("tracked");
  for (const std::string& key : description.extra_data) words.push_back("extra_data " + key);
  return words;
}

/// What a description holds, in words; empty where it holds nothing.
std::string in_words(const NodeDescription& description) {
  Names words = description.detections;
  for (std::string& word : properties(description)) words.push_back(std::move(word));
  return join(words);
}

std::string needs_in_words(const NodeDescription& needs) {
  NodeDescription shown = needs;
  if (shown.detections.empty()) shown.detections.emplace_back("any node");
  const std::string words = in_words(shown);
  switch (needs.size) {
    case NodeDescription::Size::none:
      return "the frame alone";
    case NodeDescription::Size::single:
      return "one node at a time: " + words;
    case NodeDescription::Size::all:
      return "all nodes at once: " + words;
  }
  return {};
}

/// Everything in `gives` that `needs` asks for. Attribute values must meet: a category whose
/// values the other side does not know provides nothing.
NodeDescription provided(const NodeDescription& gives, const NodeDescription& needs) {
  NodeDescription found;
  found.detections = taken(needs.detections, gives.detections);
  for (const auto& [category, allowed] : needs.attributes) {
    const auto given = gives.attributes.find(category);
    if (given == gives.attributes.end()) continue;
    Names values = common(given->second, allowed);
    if (!values.empty() || allowed.empty()) found.attributes.emplace(category, std::move(values));
  }
  found.encoded = needs.encoded && gives.encoded;
  found.tracked = needs.tracked && gives.tracked;
  found.extra_data = common(needs.extra_data, gives.extra_data);
  return found;
}

/// One capsule's place among the others while the order is being found.
struct Node {
  std::size_t place = 0;
  const CapsuleInfo* info = nullptr;
  NodeDescription adds{};
  std::map<std::size_t, NodeDescription> fed_by{};  ///< by place: what that capsule provides
};

void refuse_duplicates(const std::vector<CapsuleInfo>& capsules) {
  std::map<std::string, std::size_t> places;
  for (std::size_t place = 0; place < capsules.size(); ++place) {
    const auto [first, fresh] = places.emplace(capsules[place].name, place);
    if (!fresh)
      throw PlanError(ErrorCode::duplicate_capsule,
                      "capsule " + capsules[place].name + " is given twice, at places " +
                          std::to_string(first->second + 1) + " and " + std::to_string(place + 1) +
                          "; capsules of a pipeline need names of their own: leave one out");
  }
}

void connect(std::vector<Node>& nodes) {
  for (Node& taker : nodes) {
    const NodeDescription& needs = taker.info->input_type;
    if (needs.size == NodeDescription::Size::none) continue;
    for (const Node& giver : nodes) {
      if (giver.place == taker.place) continue;
      // A property reaches the taker only on nodes of a name that both know.
      if (taken(needs.detections, giver.info->output_type.detections).empty()) continue;
      NodeDescription gift = provided(giver.adds, needs);
      if (!in_words(gift).empty()) taker.fed_by.emplace(giver.place, std::move(gift));
    }
  }
}

[[noreturn]] void refuse_unsatisfied(const Node& taker, const std::string& missing,
                                     const std::vector<Node>& nodes) {
  std::string offers;
  for (const Node& giver : nodes) {
    if (giver.place == taker.place) continue;
    const std::string words = in_words(giver.adds);
    if (words.empty()) continue;
    offers += (offers.empty() ? "" : "; ") + giver.info->name + " provides " + words;
  }
  throw PlanError(ErrorCode::unsatisfied_input,
                  "capsule " + taker.info->name + " needs " + missing +
                      ", which no other capsule " + "provides (" +
                      (offers.empty() ? "the others provide nothing" : offers) +
                      "); add a capsule that provides it");
}

/// "attribute upper_color (red, blue)": the values matter where they are why nothing fits.
std::string with_values(const NodeDescription& needs, const std::string& property) {
  constexpr std::string_view kAttribute = "attribute ";
  if (property.rfind(kAttribute, 0) != 0) return property;
  return property + " (" + join(needs.attributes.at(property.substr(kAttribute.size()))) + ")";
}

void refuse_unsatisfied(const std::vector<Node>& nodes) {
  for (const Node& taker : nodes) {
    const NodeDescription& needs = taker.info->input_type;
    if (needs.size == NodeDescription::Size::none) continue;
    const std::string nodes_needed = needs.detections.empty()
                                         ? "nodes of any name"
                                         : "nodes named " + join(needs.detections, " or ");
    bool named = false;
    std::set<std::string> found;
    for (const auto& [place, gift] : taker.fed_by) {
      named = named || !gift.detections.empty();
      for (std::string& property : properties(gift)) found.insert(std::move(property));
    }
    if (!named) refuse_unsatisfied(taker, "nodes named " + join(needs.detections, " or "), nodes);
    for (const std::string& property : properties(needs))
      if (!found.contains(property))
        refuse_unsatisfied(taker, with_values(needs, property) + " on " + nodes_needed, nodes);
  }
}

/// Follows what feeds what among those that could not be placed, until a name comes again.
[[noreturn]] void refuse_cycle(const std::vector<Node>& nodes, const std::vector<bool>& placed) {
  std::vector<std::size_t> way;
  std::size_t at =
      static_cast<std::size_t>(std::find(placed.begin(), placed.end(), false) - placed.begin());
  while (std::find(way.begin(), way.end(), at) == way.end()) {
    way.push_back(at);
    at = std::find_if(nodes[at].fed_by.begin(), nodes[at].fed_by.end(), [&](const auto& feeder) {
           return !placed[feeder.first];
         })->first;
  }
  // The way was walked from taker to giver; the ring is told from giver to taker.
  std::string ring = nodes[at].info->name;
  std::string gifts;
  for (auto back = way.rbegin(); back != way.rend(); ++back) {
    const Node& taker = nodes[*back];
    const std::size_t giver = back == way.rbegin() ? at : *std::prev(back);
    ring += " → " + taker.info->name;
    gifts += (gifts.empty() ? "" : "; ") + taker.info->name + " needs " +
             in_words(taker.fed_by.at(giver)) + " of " + nodes[giver].info->name;
    if (*back == at) break;
  }
  throw PlanError(ErrorCode::plan_cycle, "the capsules feed each other in a ring: " + ring + " (" +
                                             gifts + "); leave one of them out");
}

std::vector<std::size_t> order_of(const std::vector<Node>& nodes) {
  std::vector<std::size_t> order;
  std::vector<bool> placed(nodes.size(), false);
  while (order.size() < nodes.size()) {
    // The first one that can stand here keeps the given order wherever nothing forbids it.
    const auto next = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) {
      return !placed[node.place] &&
             std::all_of(node.fed_by.begin(), node.fed_by.end(),
                         [&](const auto& feeder) { return placed[feeder.first]; });
    });
    if (next == nodes.end()) refuse_cycle(nodes, placed);
    placed[next->place] = true;
    order.push_back(next->place);
  }
  return order;
}

std::vector<std::string> reasons_of(const Node& node, const std::vector<Node>& nodes) {
  std::vector<std::string> reasons;
  if (node.info->input_type.size == NodeDescription::Size::none)
    reasons.emplace_back("It needs nothing but the frame.");
  for (const auto& [place, gift] : node.fed_by)
    reasons.push_back("It comes after " + nodes[place].info->name + ", which provides " +
                      in_words(gift) + ".");
  for (const auto& [place, gift] : node.fed_by) {
    for (const auto& [category, met] : gift.attributes) {
      const Names& given = nodes[place].adds.attributes.at(category);
      Names strange;
      std::copy_if(given.begin(), given.end(), std::back_inserter(strange),
                   [&met = met](const std::string& value) { return !contains(met, value); });
      if (!strange.empty() && !met.empty())
        reasons.push_back("Nodes to which " + nodes[place].info->name + " gives attribute " +
                          category + " " + join(strange, " or ") +
                          " fail here: its input does not list that.");
    }
  }
  return reasons;
}

/// A quoted string of Graphviz's language.
std::string dot_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

Plan::Plan(const std::vector<CapsuleInfo>& capsules) {
  refuse_duplicates(capsules);
  std::vector<Node> nodes;
  for (std::size_t place = 0; place < capsules.size(); ++place) {
    const CapsuleInfo& info = capsules[place];
    // Without nodes to start from, everything in the output is the capsule's own.
    nodes.push_back({.place = place,
                     .info = &info,
                     .adds = info.input_type.size == NodeDescription::Size::none
                                 ? info.output_type
                                 : info.output_type.difference(info.input_type)});
  }
  connect(nodes);
  refuse_unsatisfied(nodes);
  for (const std::size_t place : order_of(nodes)) {
    Node& node = nodes[place];
    Step step{.capsule = place,
              .name = node.info->name,
              .needs = node.info->input_type,
              .adds = node.adds,
              .reasons = reasons_of(node, nodes)};
    for (const auto& [feeder, gift] : node.fed_by) {
      step.fed_by.push_back(feeder);
      step.gifts.push_back(in_words(gift));
    }
    steps_.push_back(std::move(step));
  }
}

std::string Plan::explain() const {
  if (steps_.empty()) return "No capsules: frames pass as they are.\n";
  std::ostringstream text;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const std::string adds = in_words(step.adds);
    text << i + 1 << ". " << step.name << '\n'
         << "   needs  " << needs_in_words(step.needs) << '\n'
         << "   adds   " << (adds.empty() ? "nothing new" : adds) << '\n';
    for (const std::string& reason : step.reasons) text << "   why    " << reason << '\n';
  }
  return text.str();
}

std::string Plan::to_dot() const {
  std::ostringstream text;
  text << "digraph plan {\n  rankdir=LR;\n  node [shape=box];\n  frame [shape=ellipse];\n";
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    text << "  capsule" << step.capsule
         << " [label=" << dot_text(std::to_string(i + 1) + ". " + step.name) << "];\n";
    if (step.fed_by.empty()) text << "  frame -> capsule" << step.capsule << ";\n";
    for (std::size_t j = 0; j < step.fed_by.size(); ++j)
      text << "  capsule" << step.fed_by[j] << " -> capsule" << step.capsule
           << " [label=" << dot_text(step.gifts[j]) << "];\n";
  }
  text << "}\n";
  return text.str();
}

void to_json(nlohmann::json& json, const Plan& plan) {
  std::map<std::size_t, std::string> names;
  for (const Plan::Step& step : plan.steps()) names.emplace(step.capsule, step.name);
  json = {{"schema", "vcap.plan/1"}, {"steps", nlohmann::json::array()}};
  for (const Plan::Step& step : plan.steps()) {
    nlohmann::json fed_by = nlohmann::json::array();
    for (const std::size_t place : step.fed_by) fed_by.push_back(names.at(place));
    json["steps"].push_back({{"capsule", step.name},
                             {"place", step.capsule},
                             {"needs", step.needs},
                             {"adds", step.adds},
                             {"fed_by", std::move(fed_by)},
                             {"reasons", step.reasons}});
  }
}

}  // namespace vcap
