// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/option.hpp"

namespace vcap {

/// The pipeline's result for one frame of one stream. Thread safety: value; the pixels of `frame`
/// are shared and must not be written.
struct FrameRecord {
  /// Frames that the source gave but that were not analysed, since the previous record.
  struct Drop {
    std::int64_t frame_index = 0;
    std::string reason{};    ///< such as "overload"
    std::int64_t count = 1;  ///< number of frames with that reason, from that one on
  };
  /// A capsule that failed on this frame; the nodes are as they were before it ran.
  struct CapsuleError {
    std::string capsule{};
    std::string code{};  ///< to_string(ErrorCode), or "exception"
    std::string message{};
  };
  /// An option that has a new value from this frame on (Pipeline::set_option).
  struct OptionChange {
    std::string capsule{};
    std::string option{};
    OptionValue value{};
  };
  /// A capsule that was replaced by another version from this frame on (Pipeline::replace_capsule).
  struct Replacement {
    std::string capsule{};
    int from_version = 0;
    int to_version = 0;
  };

  /// A capsule's config that is another one from this frame on (Pipeline::set_config).
  struct ConfigChange {
    std::string capsule{};
    JsonValue config = JsonValue::object();  ///< as it was given: without the schema's defaults
    bool keep_state = true;                  ///< whether the state was to continue from its save()
  };

  /// A picture that a capsule gave for this frame (CapsuleInfo::gives_pictures). The pixels are in
  /// Frame::pictures, if a sink of the stream may look at them or the host pulls its records.
  struct Picture {
    std::string name{};
    int type = 0;  ///< OpenCV's
    cv::Size size{};
  };

  /// What the record held after one capsule of the plan. The lists of the record only grow from
  /// step to step, so their lengths say what they held.
  struct Step {
    std::string capsule{};
    std::vector<DetectionNode> objects{};
    std::size_t errors = 0;
    std::size_t warnings = 0;
    std::size_t pictures = 0;
  };

  std::string stream_id{};
  std::optional<std::int64_t> group{};  ///< of StreamConfig::groups; frame indexes count in it
  Frame frame{};
  cv::Size resolution{};  ///< of the picture; set even if no sink needs its pixels (Sink)
  std::vector<DetectionNode> objects{};
  std::vector<Picture> pictures{};  ///< in the order of the plan
  std::vector<Drop> drops{};
  std::vector<CapsuleError> errors{};
  /// Output of capsules that is not as their descriptions say, but was kept (InvalidOutput::warn),
  /// and capsules that were left out of this frame because it lacks a picture that they take
  /// ("missing_picture"). These capsules have not failed.
  std::vector<CapsuleError> warnings{};
  /// A change at a dropped frame is in the next record.
  std::vector<OptionChange> option_changes{};
  /// A replacement at a dropped frame is in the next record.
  std::vector<Replacement> replacements{};
  /// A change at a dropped frame is in the next record.
  std::vector<ConfigChange> config_changes{};

  // For recordings, if a sink of the stream asks (Sink::needs_steps); not in the JSON.
  std::vector<Step> steps{};  ///< in the order of the plan
  /// Those of the frame and of the frames dropped before it, most important first.
  std::vector<Discontinuity> discontinuities{};
};

/// Schema "vcap.frame/1" (docs/records.md): one object, without absent fields. from_json gives the
/// record back, without pixels. It requires only `frame_index`, `stream_id` and `objects`; unknown
/// fields are ignored. Throws InvalidArgument (invalid_json) that names the wrong field by its JSON
/// pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const FrameRecord& record);
VCAP_EXPORT void from_json(const nlohmann::json& json, FrameRecord& record);

}  // namespace vcap
