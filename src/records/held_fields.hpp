// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// What a format holds of a record, beside the frame's index, its stream, and the names and boxes
/// of its objects. This table is the only place that says it: what is counted as lost and what
/// tests compare follow from it. Thread safety: value.
struct HeldFields {
  std::string_view format;
  // Of the frame
  bool group = true;
  bool times = true;  ///< pts, discontinuity, and whether it is null
  bool source_file = true;
  // Of an object
  bool outlines = true;    ///< with at least three points; otherwise the box alone
  bool unbounded = false;  ///< objects without an outline
  bool detection_bbox = false;
  bool keypoints = false;         ///< name, x and y
  bool keypoint_details = false;  ///< z and confidence
  bool attributes = true;
  bool tracks = true;      ///< which objects are the same one
  bool track_ids = false;  ///< the ids themselves
  bool children = true;    ///< of which object an object is a part; otherwise they stand beside it
  bool encoding = false;
  bool confidence = true;
  bool extra_data = false;  ///< beyond the confidence and `extra_keys`
  std::array<std::string_view, 2> extra_keys{};
};

inline constexpr HeldFields kCocoHolds{
    .format = "COCO", .keypoints = true, .extra_keys = {"iscrowd", "ignore"}};
inline constexpr HeldFields kMotHolds{.format = "MOT",
                                      .group = false,
                                      .times = false,
                                      .source_file = false,
                                      .outlines = false,
                                      .attributes = false,
                                      .children = false,
                                      .extra_keys = {"visibility"}};
inline constexpr HeldFields kYoloHolds{
    .format = "YOLO", .outlines = false, .attributes = false, .tracks = false, .children = false};
inline constexpr HeldFields kVocHolds{.format = "Pascal VOC",
                                      .group = false,
                                      .times = false,
                                      .outlines = false,
                                      .tracks = false,
                                      .children = false,
                                      .confidence = false,
                                      .extra_keys = {"ignore"}};
inline constexpr HeldFields kCsvHolds{.format = "CSV",
                                      .unbounded = true,
                                      .detection_bbox = true,
                                      .keypoints = true,
                                      .keypoint_details = true,
                                      .track_ids = true,
                                      .encoding = true,
                                      .extra_data = true};

/// What an output could not hold, by kind. Thread safety: thread-compatible.
class VCAP_EXPORT Losses {
 public:
  void add(const std::string& what, std::int64_t count = 1) { counts_[what] += count; }
  /// Counts all fields of the record and its objects that are set and not held.
  void count(const FrameRecord& record, const HeldFields& held);
  /// "output a.txt: MOT does not hold: attributes of 12 objects, …"; empty if nothing was lost.
  std::string text(const std::string& path, std::string_view format) const;

 private:
  void count(const DetectionNode& node, const HeldFields& held);

  std::map<std::string, std::int64_t> counts_;
};

}  // namespace vcap
