// SPDX-License-Identifier: Apache-2.0
#include "view/frame_difference.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

namespace vcap {
namespace {

using Messages = std::vector<FrameRecord::CapsuleError>;

auto key_of(const FrameRecord::CapsuleError& one) {
  return std::tie(one.capsule, one.code, one.message);
}

template <class Element, class Key>
bool are_equal(const std::vector<Element>& a, const std::vector<Element>& b, Key key) {
  return std::ranges::equal(
      a, b, [&](const Element& one, const Element& other) { return key(one) == key(other); });
}

bool equal_drops(const FrameRecord& a, const FrameRecord& b) {
  return are_equal(a.drops, b.drops, [](const FrameRecord::Drop& one) {
    return std::tie(one.frame_index, one.reason, one.count);
  });
}

bool equal_changes(const FrameRecord& a, const FrameRecord& b) {
  return are_equal(a.option_changes, b.option_changes,
                   [](const FrameRecord::OptionChange& one) {
                     return std::tie(one.capsule, one.option, one.value);
                   }) &&
         are_equal(a.replacements, b.replacements,
                   [](const FrameRecord::Replacement& one) {
                     return std::tie(one.capsule, one.from_version, one.to_version);
                   }) &&
         are_equal(a.config_changes, b.config_changes, [](const FrameRecord::ConfigChange& one) {
           return std::tie(one.capsule, one.config, one.keep_state);
         });
}

bool equal_pictures(const FrameRecord& a, const FrameRecord& b) {
  return are_equal(a.pictures, b.pictures, [](const FrameRecord::Picture& one) {
    return std::tuple(one.name, one.type, one.size.width, one.size.height);
  });
}

/// The fields of a record besides objects, messages and drops.
void compare_fields(const FrameRecord& a, const FrameRecord& b, FrameDifference& found) {
  const auto note = [&found](bool is_equal, const char* field) {
    if (!is_equal) found.fields.push_back(field);
  };
  note(a.frame.index == b.frame.index, "frame_index");
  note(a.frame.pts == b.frame.pts, "pts_ns");
  note(a.frame.discontinuity == b.frame.discontinuity, "discontinuity");
  note(a.frame.source_file == b.frame.source_file, "source_file");
  note(a.frame.is_null == b.frame.is_null, "null");
  note(a.resolution == b.resolution, "resolution");
  note(equal_pictures(a, b), "pictures");
  note(equal_changes(a, b), "option_changes and replacements");
}

/// The messages that `own` has and `other` lacks.
void add_messages(const Messages& own, const Messages& other, bool in_a, bool is_warning,
                  FrameDifference& found) {
  const auto is_less = [](const FrameRecord::CapsuleError& one,
                          const FrameRecord::CapsuleError& next) {
    return key_of(one) < key_of(next);
  };
  Messages sorted_own = own, sorted_other = other, only;
  std::ranges::sort(sorted_own, is_less);
  std::ranges::sort(sorted_other, is_less);
  std::ranges::set_difference(sorted_own, sorted_other, std::back_inserter(only), is_less);
  for (FrameRecord::CapsuleError& message : only)
    found.messages.push_back(
        {.in_a = in_a, .is_warning = is_warning, .message = std::move(message)});
}

double largest_move(const NodePair& pair) {
  if (!pair.box_a || !pair.box_b) return 0;
  const BoundingBox& a = *pair.box_a;
  const BoundingBox& b = *pair.box_b;
  return std::max(
      {std::abs(a.x1 - b.x1), std::abs(a.y1 - b.y1), std::abs(a.x2 - b.x2), std::abs(a.y2 - b.y2)});
}

FrameDifference::Kind kind_of(const NodePair& pair, double move, double tolerance) {
  using Kind = FrameDifference::Kind;
  if (pair.a == nullptr) return Kind::appeared;
  if (pair.b == nullptr) return Kind::vanished;
  if (pair.a->name != pair.b->name) return Kind::renamed;
  return move > tolerance || pair.box_a.has_value() != pair.box_b.has_value() ? Kind::moved
                                                                              : Kind::same;
}

void compare_attributes(const NodePair& pair, std::size_t place, FrameDifference& found) {
  const auto& a = pair.a->attributes;
  const auto& b = pair.b->attributes;
  if (a == b) return;
  for (const auto& [category, value] : a) {
    const auto other = b.find(category);
    if (other == b.end() || other->second != value)
      found.attributes.push_back({.pair = place,
                                  .category = category,
                                  .a = value,
                                  .b = other == b.end() ? std::string() : other->second});
  }
  for (const auto& [category, value] : b)
    if (!a.contains(category))
      found.attributes.push_back({.pair = place, .category = category, .a = {}, .b = value});
}

/// The fields of nodes that are compared only for being equal.
class NodeFields {
 public:
  void compare(const DetectionNode& a, const DetectionNode& b) {
    confidence_ = confidence_ || a.confidence() != b.confidence();
    encoding_ = encoding_ || a.encoding != b.encoding;
    keypoints_ = keypoints_ || a.keypoints != b.keypoints;
    outline_ = outline_ || a.coords != b.coords;
    detection_bbox_ = detection_bbox_ || a.detection_bbox != b.detection_bbox;
    extra_data_ = extra_data_ || !(a.extra_data == b.extra_data);
    tracked_ = tracked_ || a.track_id.has_value() != b.track_id.has_value();
  }
  void add_to(std::vector<const char*>& fields) const {
    const auto note = [&fields](bool differs, const char* field) {
      if (differs) fields.push_back(field);
    };
    note(confidence_, "confidence");
    note(encoding_, "encoding");
    note(keypoints_, "keypoints");
    note(outline_, "coords");
    note(detection_bbox_, "detection_bbox");
    note(extra_data_, "extra_data");
    note(tracked_, "track_id of one run only");
  }
  bool any() const noexcept {
    return confidence_ || encoding_ || keypoints_ || outline_ || detection_bbox_ || extra_data_ ||
           tracked_;
  }

 private:
  bool confidence_ = false, encoding_ = false, keypoints_ = false, outline_ = false;
  bool detection_bbox_ = false, extra_data_ = false, tracked_ = false;
};

bool differ_in_track_ids(const std::vector<NodePair>& pairs) {
  return std::ranges::any_of(pairs, [](const NodePair& pair) {
    return pair.a != nullptr && pair.b != nullptr && pair.a->track_id != pair.b->track_id;
  });
}

void compare_objects(const FrameRecord& a, const FrameRecord& b, double tolerance, double min_iou,
                     FrameDifference& found) {
  found.pairs = pair_nodes(a.objects, b.objects, min_iou);
  NodeFields fields;
  for (std::size_t i = 0; i < found.pairs.size(); ++i) {
    const NodePair& pair = found.pairs[i];
    found.moves.push_back(largest_move(pair));
    found.kinds.push_back(kind_of(pair, found.moves.back(), tolerance));
    if (pair.a == nullptr || pair.b == nullptr) continue;
    compare_attributes(pair, i, found);
    fields.compare(*pair.a, *pair.b);
  }
  fields.add_to(found.fields);
  const bool has_pairs_only = std::ranges::all_of(found.pairs, [](const NodePair& pair) {
    return pair.a != nullptr && pair.b != nullptr && pair.a->name == pair.b->name;
  });
  if (has_pairs_only && a.objects != b.objects && !fields.any() && found.attributes.empty() &&
      !differ_in_track_ids(found.pairs))
    found.fields.push_back("the order of objects");
}

}  // namespace

double FrameDifference::score() const noexcept {
  double score = static_cast<double>(messages.size()) +
                 0.5 * static_cast<double>(attributes.size()) + (drops_differ ? 0.5 : 0);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (kinds[i] == Kind::moved)
      score += std::max(1 - pairs[i].iou, 1e-6);
    else if (kinds[i] != Kind::same)
      score += 1;
  }
  return score;
}

FrameDifference compare_frames(const FrameRecord& a, const FrameRecord& b, double tolerance,
                               double min_iou) {
  FrameDifference found;
  compare_fields(a, b, found);
  add_messages(a.errors, b.errors, true, false, found);
  add_messages(b.errors, a.errors, false, false, found);
  add_messages(a.warnings, b.warnings, true, true, found);
  add_messages(b.warnings, a.warnings, false, true, found);
  found.drops_differ = !equal_drops(a, b);
  const bool equal_objects = a.objects == b.objects;
  found.is_equal =
      found.fields.empty() && found.messages.empty() && !found.drops_differ && equal_objects;
  if (!found.is_equal) compare_objects(a, b, tolerance, min_iou, found);
  return found;
}

}  // namespace vcap
