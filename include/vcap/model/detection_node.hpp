// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/keypoint.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {

/// Something that a capsule found in a frame, with everything known about it. Thread safety: value.
struct VCAP_EXPORT DetectionNode {
  std::string name{};  ///< what it is, such as "person"
  Coords coords{};     ///< its outline in pixels of the frame
  /// The detector's box in pixels of the frame, if a tracker has put its own into `coords`.
  std::optional<BoundingBox> detection_bbox{};
  std::map<std::string, std::string> attributes{};  ///< category to value, such as upper_color: red
  std::vector<DetectionNode> children{};            ///< what was found as part of it
  std::vector<Keypoint> keypoints{};                ///< named points of it, such as joints
  std::optional<std::vector<float>> encoding{};     ///< a vector; similar things have near ones
  std::optional<Uuid> track_id{};                   ///< the same for the same thing in other frames
  JsonValue extra_data = JsonValue::object();       ///< anything else, an object by key

  /// The smallest box around `coords`; throws InvalidArgument if there are no coords.
  BoundingBox bbox() const;

  /// Multiplies the coordinates and keypoints of this node and of all its children; the depth of
  /// keypoints by x_factor.
  void scale(double x_factor, double y_factor);
  /// Moves this node, its keypoints and all its children by that many pixels.
  void offset(double x, double y);

  /// The values of each attribute category in this node and in all nodes below it.
  std::map<std::string, std::set<std::string>> all_attributes() const;

  /// The detector's certainty in 0…1: "detection_confidence" of extra_data if it is a number, else
  /// "confidence" if that is one.
  std::optional<double> confidence() const;

  bool operator==(const DetectionNode&) const = default;
};

/// The form of a record's objects (docs/records.md); absent members are left out. from_json
/// requires only "name", and throws InvalidArgument (invalid_json) that names the wrong field by
/// its JSON pointer. "bbox" and "confidence" are derived and not read; unknown fields are ignored.
///
/// A node that is read back equals the node that was written, except for values that JSON cannot
/// express: a NaN or infinity becomes null, which from_json refuses. to_json accepts every node.
/// Text that is not UTF-8 is copied unchanged into the JSON value, so a writer must call `dump(-1,
/// ' ', false, nlohmann::json::error_handler_t::replace)`.
VCAP_EXPORT void to_json(nlohmann::json& json, const DetectionNode& node);
VCAP_EXPORT void from_json(const nlohmann::json& json, DetectionNode& node);

}  // namespace vcap
