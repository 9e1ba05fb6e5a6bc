// SPDX-License-Identifier: Apache-2.0
#include "view/difference_table.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "view/page_parts.hpp"

namespace vcap {
namespace {

constexpr const char* kNamesBeyond = "(other names)";

}  // namespace

DifferenceTable::Objects& DifferenceTable::of_name(const std::string& name) {
  if (const auto known = objects_.find(name); known != objects_.end()) return known->second;
  if (name.size() > kLongestKept) return of_name(shortened(name));
  return objects_[objects_.size() + 1 < kMostNames ? name : kNamesBeyond];
}

void DifferenceTable::add(const FrameRecord& a, const FrameDifference& difference,
                          const std::string& stream) {
  if (difference.is_equal) {
    for (const DetectionNode& node : a.objects) add_equal(node);
    return;
  }
  const FirstFrame here{stream, a.frame.index, a.frame.pts};
  for (std::size_t i = 0; i < difference.pairs.size(); ++i)
    add_pair(difference.pairs[i], difference.kinds[i], difference.moves[i]);
  for (const AttributeDifference& one : difference.attributes)
    add_attribute(one, difference.pairs[one.pair], here);
  for (const MessageDifference& one : difference.messages) add_message(one, here);
  for (const char* field : difference.fields) add_field(field);
}

void DifferenceTable::add_equal(const DetectionNode& node) {
  Objects& own = of_name(node.name);
  ++own.counts.in_a;
  ++own.counts.in_b;
  ++own.counts.same;
  if (node.confidence()) ++own.with_confidence;
  for (const DetectionNode& child : node.children) add_equal(child);
}

void DifferenceTable::add_pair(const NodePair& pair, FrameDifference::Kind kind, double move) {
  using Kind = FrameDifference::Kind;
  if (pair.a != nullptr) ++of_name(pair.a->name).counts.in_a;
  if (pair.b != nullptr) ++of_name(pair.b->name).counts.in_b;
  if (kind == Kind::appeared) {
    ++of_name(pair.b->name).counts.appeared;
    return;
  }
  Objects& own = of_name(pair.a->name);
  if (kind == Kind::vanished) {
    ++own.counts.vanished;
    return;
  }
  if (kind == Kind::renamed) ++own.counts.renamed;
  if (kind == Kind::same) ++own.counts.same;
  if (kind == Kind::moved) {
    ++own.counts.moved;
    own.iou_sum += pair.iou;
    own.counts.iou_of_moved = own.iou_sum / static_cast<double>(own.counts.moved);
    own.counts.largest_move = std::max(own.counts.largest_move, move);
  }
  const auto a = pair.a->confidence(), b = pair.b->confidence();
  if (!a || !b) return;
  ++own.with_confidence;
  own.confidence_sum += *b - *a;
}

void DifferenceTable::add_attribute(const AttributeDifference& one, const NodePair& pair,
                                    const FirstFrame& here) {
  ++of_name(pair.a->name).counts.attributes;
  const AttributeKey key(shortened(pair.a->name), shortened(one.category), shortened(one.a),
                         shortened(one.b));
  if (!attributes_.contains(key) && attributes_.size() == kMostAttributes) {
    ++other_attributes_;
    return;
  }
  AttributeChange& change = attributes_[key];
  if (change.count++ == 0) change.first = here;
}

void DifferenceTable::add_message(const MessageDifference& one, const FirstFrame& here) {
  ++(one.in_a ? messages_a_ : messages_b_);
  const MessageKey key(one.is_warning, shortened(one.message.capsule), shortened(one.message.code),
                       bounded_text(one.message.message));
  const bool is_known = messages_.contains(key);
  if (!is_known && messages_.size() == kMostMessages) {
    ++other_messages_;
    return;
  }
  Message& message = messages_[key];
  if (!is_known) message.first = here;
  ++(one.in_a ? message.only_a : message.only_b);
}

}  // namespace vcap
