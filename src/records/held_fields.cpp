// SPDX-License-Identifier: Apache-2.0
#include "records/held_fields.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "records/outline.hpp"

namespace vcap {
namespace {

bool has_other_data(const DetectionNode& node, const HeldFields& held) {
  if (node.extra_data.empty() || !node.extra_data.is_object()) return false;
  return std::ranges::any_of(node.extra_data->items(), [&](const auto& item) {
    return item.key() != "confidence" && item.key() != "detection_confidence" &&
           std::ranges::find(held.extra_keys, item.key()) == held.extra_keys.end();
  });
}

}  // namespace

void Losses::count(const FrameRecord& record, const HeldFields& held) {
  const auto note = [this](bool is_lost, const char* what, std::size_t count = 1) {
    if (is_lost && count > 0) add(what, static_cast<std::int64_t>(count));
  };
  note(record.group && !held.group, "groups (frames)");
  const Frame& frame = record.frame;
  note(frame.is_null && !held.times, "null frames");
  note(frame.discontinuity != Discontinuity::none && frame.discontinuity != Discontinuity::start &&
           !held.times,
       "discontinuities");
  note(!frame.source_file.empty() && !held.source_file, "source_file (frames)");
  note(true, "pictures", record.pictures.size());
  note(true, "drops", record.drops.size());
  note(true, "errors", record.errors.size());
  note(true, "warnings", record.warnings.size());
  note(true, "option_changes", record.option_changes.size());
  note(true, "replacements", record.replacements.size());
  note(true, "config_changes", record.config_changes.size());
  for (const DetectionNode& node : record.objects) count(node, held);
}

void Losses::count(const DetectionNode& node, const HeldFields& held) {
  const auto note = [this](bool is_lost, const char* what) {
    if (is_lost) add(what);
  };
  if (node.coords.empty())
    note(!held.unbounded, "objects without an outline");
  else
    note(!is_box(node.coords) && (!held.outlines || (node.coords.size() < 3 && !held.unbounded)),
         "outlines, of which the box is kept");
  note(node.detection_bbox && !held.detection_bbox, "detection_bbox");
  note(!node.keypoints.empty() && !held.keypoints, "keypoints (objects)");
  note(held.keypoints && !held.keypoint_details &&
           std::ranges::any_of(node.keypoints,
                               [](const Keypoint& one) { return one.z || one.confidence; }),
       "z and confidence of keypoints (objects)");
  note(!node.attributes.empty() && !held.attributes, "attributes (objects)");
  note(node.track_id && !held.tracks, "track_id");
  note(node.track_id && held.tracks && !held.track_ids,
       "track_id as UUID, for which a number is written (objects)");
  note(node.encoding && !held.encoding, "encoding");
  note(node.confidence() && !held.confidence, "confidence");
  note(has_other_data(node, held) && !held.extra_data, "extra_data (objects)");
  note(!node.children.empty() && !held.children,
       "children as parts, which are written beside the object (objects)");
  for (const DetectionNode& child : node.children) count(child, held);
}

std::string Losses::text(const std::string& path, std::string_view format) const {
  std::string list;
  for (const auto& [what, count] : counts_)
    list += (list.empty() ? "" : ", ") + what + ": " + std::to_string(count);
  if (list.empty()) return {};
  return "output " + path + ": " + std::string(format) + " does not hold " + list;
}

}  // namespace vcap
