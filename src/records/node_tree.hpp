// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "vcap/model/detection_node.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/node_description.hpp"

namespace vcap {

/// One call for all nodes of a frame that a capsule takes.
///
/// The tree does not change until put_back(), so a capsule that throws has changed nothing. Thread
/// safety: thread-compatible; the tree is borrowed and must not change until put_back().
class TakenNodes {
 public:
  /// Finds the nodes that `description` describes, anywhere in the tree. Such a node is taken with
  /// everything below it. Throws what NodeDescription::describes() throws.
  TakenNodes(std::vector<DetectionNode>& roots, const NodeDescription& description);

  /// A copy of the nodes, for the capsule.
  DetectionNodes copy() const;
  /// The nodes in the tree that put_back() replaces.
  std::vector<const DetectionNode*> nodes() const;
  /// The deepest level at which returned nodes may be put; the roots are level 1.
  std::size_t level() const noexcept { return level_; }

  /// Replaces the taken nodes by `returned`. If they came from one list, the returned nodes go
  /// there, in the returned order. If they came from several, a returned node replaces the taken
  /// node with the same name and outline; other returned nodes join the roots, and other taken
  /// nodes are removed.
  void put_back(std::vector<DetectionNode> returned) &&;

 private:
  struct Place {
    std::vector<DetectionNode>* list = nullptr;
    std::size_t index = 0;
  };
  void find(std::vector<DetectionNode>& list, const NodeDescription& description,
            std::size_t level);
  void replace_in_one_list(std::vector<DetectionNode> returned);
  void replace_by_likeness(std::vector<DetectionNode> returned);

  std::vector<DetectionNode>& roots_;
  std::vector<Place> places_;  ///< parents before their children's lists, lists in order
  std::size_t level_ = 1;
};

/// The calls for a capsule that takes nodes singly: one for each such node of a frame.
///
/// Calls come in rounds. A node below another such node is in an earlier round, so that the upper
/// node contains the result for the lower one. Calls of a round are independent. Thread safety:
/// thread-compatible; copy() and set() of different calls may run at once.
class SingleNodes {
 public:
  /// Throws what NodeDescription::describes() throws.
  SingleNodes(std::vector<DetectionNode>& roots, const NodeDescription& description);

  std::size_t rounds() const noexcept { return rounds_.size(); }
  std::size_t calls(std::size_t round) const noexcept { return rounds_[round].size(); }

  /// The node of one call, for the capsule; the tree's node does not change until finish().
  DetectionNodes copy(std::size_t round, std::size_t call) const;
  /// Stores the result of one call. A call without set() leaves its node unchanged.
  void set(std::size_t round, std::size_t call, std::vector<DetectionNode> returned);
  /// Drops the results of a round so far, as if there had been no set().
  void forget(std::size_t round) noexcept;
  /// The nodes in the tree that the results of a round replace.
  std::vector<const DetectionNode*> answered(std::size_t round) const;
  /// The level of a call's node in the record; the roots are level 1.
  std::size_t level(std::size_t round, std::size_t call) const noexcept {
    return rounds_[round][call].level;
  }
  /// Puts the results of a round's calls into the tree; rounds must be finished in order.
  void finish(std::size_t round);

 private:
  struct Call {
    DetectionNode* node = nullptr;
    std::size_t level = 1;
    bool answered = false;
    std::vector<DetectionNode> returned{};
  };
  std::size_t find(std::vector<DetectionNode>& list, const NodeDescription& description,
                   std::size_t level);
  void expand(std::vector<DetectionNode>& list);

  std::vector<DetectionNode>& roots_;
  std::vector<std::vector<Call>> rounds_;
  /// Nodes that are replaced by zero or several nodes; done when nothing points into their lists.
  std::map<const DetectionNode*, std::vector<DetectionNode>> expansions_;
};

}  // namespace vcap
