// SPDX-License-Identifier: Apache-2.0
#include "records/node_tree.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vcap {

TakenNodes::TakenNodes(std::vector<DetectionNode>& roots, const NodeDescription& description)
    : roots_(roots) {
  find(roots_, description, 1);
}

void TakenNodes::find(std::vector<DetectionNode>& list, const NodeDescription& description,
                      std::size_t level) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (description.describes(list[i])) {
      places_.push_back({&list, i});
      level_ = std::max(level_, level);
    } else {
      find(list[i].children, description, level + 1);
    }
}

std::vector<const DetectionNode*> TakenNodes::nodes() const {
  std::vector<const DetectionNode*> nodes;
  nodes.reserve(places_.size());
  for (const Place& place : places_) nodes.push_back(&(*place.list)[place.index]);
  return nodes;
}

DetectionNodes TakenNodes::copy() const {
  std::vector<DetectionNode> nodes;
  nodes.reserve(places_.size());
  for (const Place& place : places_) nodes.push_back((*place.list)[place.index]);
  return DetectionNodes::all(std::move(nodes));
}

void TakenNodes::put_back(std::vector<DetectionNode> returned) && {
  const bool one_list = std::all_of(places_.begin(), places_.end(), [this](const Place& place) {
    return place.list == places_.front().list;
  });
  if (places_.empty())
    std::move(returned.begin(), returned.end(), std::back_inserter(roots_));
  else if (one_list)
    replace_in_one_list(std::move(returned));
  else
    replace_by_likeness(std::move(returned));
}

void TakenNodes::replace_in_one_list(std::vector<DetectionNode> returned) {
  std::vector<DetectionNode>& list = *places_.front().list;
  std::vector<DetectionNode> result;
  result.reserve(list.size() - places_.size() + returned.size());
  auto place = places_.begin();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (place == places_.end() || place->index != i) {
      result.push_back(std::move(list[i]));
      continue;
    }
    if (place == places_.begin())
      std::move(returned.begin(), returned.end(), std::back_inserter(result));
    ++place;
  }
  list = std::move(result);
}

void TakenNodes::replace_by_likeness(std::vector<DetectionNode> returned) {
  std::vector<bool> answered(places_.size(), false);
  std::vector<DetectionNode> newcomers;
  // Most capsules keep the order, so the search nearly always ends where it starts.
  std::size_t start = 0;
  for (DetectionNode& node : returned) {
    std::size_t tried = 0;
    for (; tried < places_.size(); ++tried) {
      const std::size_t i = (start + tried) % places_.size();
      DetectionNode& old = (*places_[i].list)[places_[i].index];
      if (answered[i] || old.name != node.name || old.coords != node.coords) continue;
      old = std::move(node);
      answered[i] = true;
      start = i + 1;
      break;
    }
    // Not moved from: no place took it. NOLINTNEXTLINE(bugprone-use-after-move)
    if (tried == places_.size()) newcomers.push_back(std::move(node));
  }
  // From the back: erasing moves only later elements of the same list.
  for (std::size_t i = places_.size(); i-- > 0;)
    if (!answered[i])
      places_[i].list->erase(
          std::next(places_[i].list->begin(), static_cast<std::ptrdiff_t>(places_[i].index)));
  std::move(newcomers.begin(), newcomers.end(), std::back_inserter(roots_));
}

SingleNodes::SingleNodes(std::vector<DetectionNode>& roots, const NodeDescription& description)
    : roots_(roots) {
  find(roots_, description, 1);
}

/// Returns the round of a node above this list.
std::size_t SingleNodes::find(std::vector<DetectionNode>& list, const NodeDescription& description,
                              std::size_t level) {
  std::size_t above = 0;
  for (DetectionNode& node : list) {
    std::size_t round = find(node.children, description, level + 1);
    if (description.describes(node)) {
      if (rounds_.size() <= round) rounds_.resize(round + 1);
      rounds_[round].push_back({.node = &node, .level = level});
      ++round;
    }
    above = std::max(above, round);
  }
  return above;
}

DetectionNodes SingleNodes::copy(std::size_t round, std::size_t call) const {
  return DetectionNodes::single(*rounds_[round][call].node);
}

void SingleNodes::set(std::size_t round, std::size_t call, std::vector<DetectionNode> returned) {
  rounds_[round][call].answered = true;
  rounds_[round][call].returned = std::move(returned);
}

void SingleNodes::forget(std::size_t round) noexcept {
  for (Call& call : rounds_[round]) {
    call.answered = false;
    call.returned = {};
  }
}

std::vector<const DetectionNode*> SingleNodes::answered(std::size_t round) const {
  std::vector<const DetectionNode*> nodes;
  for (const Call& call : rounds_[round])
    if (call.answered) nodes.push_back(call.node);
  return nodes;
}

void SingleNodes::finish(std::size_t round) {
  for (Call& call : rounds_[round]) {
    if (!call.answered) continue;
    if (call.returned.size() == 1) {
      // Through a temporary node: the assigned value may have come from the tree's own node.
      DetectionNode node = std::move(call.returned.front());
      *call.node = std::move(node);
    } else {
      expansions_.emplace(call.node, std::move(call.returned));
    }
  }
  if (expansions_.empty()) return;
  if (round + 1 == rounds_.size()) return expand(roots_);
  // The next round must get complete nodes; nothing points below those nodes any more.
  for (Call& call : rounds_[round + 1]) expand(call.node->children);
}

void SingleNodes::expand(std::vector<DetectionNode>& list) {
  for (DetectionNode& node : list)
    if (!expansions_.contains(&node)) expand(node.children);
  if (std::none_of(list.begin(), list.end(),
                   [this](const DetectionNode& node) { return expansions_.contains(&node); }))
    return;
  std::vector<DetectionNode> result;
  for (DetectionNode& node : list) {
    auto expansion = expansions_.extract(&node);
    if (expansion.empty())
      result.push_back(std::move(node));
    else
      std::move(expansion.mapped().begin(), expansion.mapped().end(), std::back_inserter(result));
  }
  list = std::move(result);
}

}  // namespace vcap
