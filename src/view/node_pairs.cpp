// SPDX-License-Identifier: Apache-2.0
#include "view/node_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "vcap/algorithms/iou.hpp"
#include "vcap/algorithms/linear_assignment.hpp"

namespace vcap {
namespace {

/// The sides of the largest matrix of costs: 2 MB, some milliseconds.
constexpr std::size_t kLongestSide = 500;
/// Of objects whose names differ.
constexpr double kMinIouOfRenamed = 0.5;

struct Placed {
  const DetectionNode* node = nullptr;
  BoundingBox box{};
};

/// The nodes of one frame in one run, by name.
struct NodesOfName {
  std::vector<Placed> placed{};
  std::vector<const DetectionNode*> without_box{};
};
using NodesByName = std::map<std::string_view, NodesOfName>;

bool is_finite(const BoundingBox& box) {
  return std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) &&
         std::isfinite(box.y2);
}

void sort_by_name(const std::vector<DetectionNode>& nodes, NodesByName& names) {
  for (const DetectionNode& node : nodes) {
    NodesOfName& own = names[node.name];
    const BoundingBox box = node.coords.empty() ? BoundingBox() : node.bbox();
    if (node.coords.empty() || !is_finite(box))
      own.without_box.push_back(&node);
    else
      own.placed.push_back({&node, box});
    sort_by_name(node.children, names);
  }
}

/// Removes those that are taken; keeps the order.
void erase_taken(std::vector<Placed>& placed) {
  std::erase_if(placed, [](const Placed& one) { return one.node == nullptr; });
}

class NodePairing {
 public:
  explicit NodePairing(double min_iou) : min_iou_(min_iou) {}

  std::vector<NodePair> pair(const std::vector<DetectionNode>& a,
                             const std::vector<DetectionNode>& b) {
    NodesByName names_a, names_b;
    sort_by_name(a, names_a);
    sort_by_name(b, names_b);
    std::vector<Placed> left_a, left_b;
    for (auto& [name, own] : names_a) {
      const auto found = names_b.find(name);
      NodesOfName none;
      NodesOfName& other = found == names_b.end() ? none : found->second;
      pair_in_order(own.without_box, other.without_box);
      pair_equal(own.placed, other.placed);
      pair_by_iou(own.placed, other.placed, min_iou_);
      left_a.insert(left_a.end(), own.placed.begin(), own.placed.end());
    }
    for (auto& [name, own] : names_b) {
      if (!names_a.contains(name)) pair_in_order({}, own.without_box);
      left_b.insert(left_b.end(), own.placed.begin(), own.placed.end());
    }
    pair_by_iou(left_a, left_b, std::max(min_iou_, kMinIouOfRenamed));
    for (const Placed& one : left_a) pairs_.push_back({.a = one.node, .box_a = one.box});
    for (const Placed& one : left_b) pairs_.push_back({.b = one.node, .box_b = one.box});
    return std::move(pairs_);
  }

 private:
  void add(Placed& a, Placed& b, double iou) {
    pairs_.push_back({.a = a.node, .b = b.node, .box_a = a.box, .box_b = b.box, .iou = iou});
    a.node = b.node = nullptr;
  }

  void pair_in_order(const std::vector<const DetectionNode*>& a,
                     const std::vector<const DetectionNode*>& b) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
      pairs_.push_back({.a = i < a.size() ? a[i] : nullptr, .b = i < b.size() ? b[i] : nullptr});
  }

  /// Most boxes of two runs are equal, and need no matrix.
  void pair_equal(std::vector<Placed>& a, std::vector<Placed>& b) {
    const auto key = [](const Placed& one) {
      return std::tuple(one.box.x1, one.box.y1, one.box.x2, one.box.y2);
    };
    std::vector<Placed*> sorted_a, sorted_b;
    for (Placed& one : a) sorted_a.push_back(&one);
    for (Placed& one : b) sorted_b.push_back(&one);
    const auto is_less = [&](const Placed* one, const Placed* other) {
      return key(*one) < key(*other);
    };
    std::ranges::stable_sort(sorted_a, is_less);
    std::ranges::stable_sort(sorted_b, is_less);
    for (auto at = sorted_a.begin(), other = sorted_b.begin();
         at != sorted_a.end() && other != sorted_b.end();) {
      if (is_less(*at, *other))
        ++at;
      else if (is_less(*other, *at))
        ++other;
      else
        add(**at++, **other++, 1);
    }
    erase_taken(a);
    erase_taken(b);
  }

  void pair_by_iou(std::vector<Placed>& a, std::vector<Placed>& b, double min_iou) {
    if (a.empty() || b.empty()) return;
    if (a.size() <= kLongestSide && b.size() <= kLongestSide)
      pair_best(a, b, min_iou);
    else
      pair_one_by_one(a, b, min_iou);
    erase_taken(a);
    erase_taken(b);
  }

  void pair_best(std::vector<Placed>& a, std::vector<Placed>& b, double min_iou) {
    std::vector<BoundingBox> boxes_a, boxes_b;
    for (const Placed& one : a) boxes_a.push_back(one.box);
    for (const Placed& one : b) boxes_b.push_back(one.box);
    cv::Mat1d costs = iou_cost_matrix(boxes_a, boxes_b);
    for (double& cost : costs)
      if (1 - cost < min_iou) cost = std::numeric_limits<double>::infinity();
    for (const auto& [row, column] : linear_assignment(costs))
      add(a[static_cast<std::size_t>(row)], b[static_cast<std::size_t>(column)],
          1 - costs(row, column));
  }

  void pair_one_by_one(std::vector<Placed>& a, std::vector<Placed>& b, double min_iou) {
    for (Placed& one : a) {
      Placed* best = nullptr;
      double largest = min_iou;
      for (Placed& other : b) {
        if (other.node == nullptr) continue;
        const double overlap = iou(one.box, other.box);
        if (overlap < largest) continue;
        largest = overlap;
        best = &other;
      }
      if (best != nullptr) add(one, *best, largest);
    }
  }

  const double min_iou_;
  std::vector<NodePair> pairs_;
};

}  // namespace

std::vector<NodePair> pair_nodes(const std::vector<DetectionNode>& a,
                                 const std::vector<DetectionNode>& b, double min_iou) {
  return NodePairing(min_iou).pair(a, b);
}

}  // namespace vcap
