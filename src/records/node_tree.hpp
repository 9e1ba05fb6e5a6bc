// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/node_description.hpp"

namespace vcap {

/// One call for all nodes of a frame that a capsule takes.
///
/// The tree stays as it is until put_back(), so that a capsule that throws has changed nothing.
/// Thread safety: thread-compatible; the tree is borrowed and must not change in between.
class VCAP_EXPORT TakenNodes {
 public:
  /// Finds what `description` describes, anywhere in the tree; a node that is described is taken
  /// with all that is below it. Throws what NodeDescription::describes() throws.
  TakenNodes(std::vector<DetectionNode>& roots, const NodeDescription& description);

  /// A copy of the nodes, for the capsule.
  DetectionNodes copy() const;

  /// Puts `returned` in the place of what was taken. Nodes taken out of one list go back to it, in
  /// the returned order. Where they came from several, a returned node with the name and outline
  /// of a taken one takes its place, and the others join the roots.
  void put_back(std::vector<DetectionNode> returned) &&;

 private:
  struct Place {
    std::vector<DetectionNode>* list = nullptr;
    std::size_t index = 0;
  };
  void find(std::vector<DetectionNode>& list, const NodeDescription& description);
  void replace_in_one_list(std::vector<DetectionNode> returned);
  void replace_by_likeness(std::vector<DetectionNode> returned);

  std::vector<DetectionNode>& roots_;
  std::vector<Place> places_;  ///< parents before their children's lists, lists in order
};

/// The calls, one for each node of a frame that a capsule takes singly.
///
/// They come in rounds: a node that is below another one of them goes in an earlier round, so
/// that the upper one is called with what became of the lower. Calls of a round are independent.
/// Thread safety: thread-compatible; copy() and set() of different calls may run at once.
class VCAP_EXPORT SingleNodes {
 public:
  /// Throws what NodeDescription::describes() throws.
  SingleNodes(std::vector<DetectionNode>& roots, const NodeDescription& description);

  std::size_t rounds() const noexcept { return rounds_.size(); }
  std::size_t calls(std::size_t round) const noexcept { return rounds_[round].size(); }

  /// The node of one call, for the capsule; the tree keeps its own until finish().
  DetectionNodes copy(std::size_t round, std::size_t call) const;
  /// What one call gave. A call without set() leaves its node as it is.
  void set(std::size_t round, std::size_t call, std::vector<DetectionNode> returned);
  /// Puts what a round's calls gave into the tree; rounds are finished in order.
  void finish(std::size_t round);

 private:
  struct Call {
    DetectionNode* node = nullptr;
    bool answered = false;
    std::vector<DetectionNode> returned{};
  };
  std::size_t find(std::vector<DetectionNode>& list, const NodeDescription& description);
  void expand(std::vector<DetectionNode>& list);

  std::vector<DetectionNode>& roots_;
  std::vector<std::vector<Call>> rounds_;
  /// Nodes that became none or several: put into their lists only when nothing points there.
  std::map<const DetectionNode*, std::vector<DetectionNode>> expansions_;
};

}  // namespace vcap
