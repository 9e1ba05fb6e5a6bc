// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/option.hpp"

namespace vcap {

/// What the pipeline found out about one frame of one stream. Thread safety: value; the pixels of
/// `frame` are shared and not to be written.
struct FrameRecord {
  /// Frames that the source gave and that were not analysed, since the record before this one.
  struct Drop {
    std::int64_t frame_index = 0;
    std::string reason{};    ///< such as "overload"
    std::int64_t count = 1;  ///< more than 1: so many for that reason, from that one on
  };
  /// A capsule that failed on this frame; the nodes are as they were before it.
  struct CapsuleError {
    std::string capsule{};
    std::string code{};  ///< to_string(ErrorCode), or "exception"
    std::string message{};
  };
  /// An option that has another value from this frame on (Pipeline::set_option).
  struct OptionChange {
    std::string capsule{};
    std::string option{};
    OptionValue value{};
  };
  /// A capsule that another version has replaced from this frame on (Pipeline::replace_capsule).
  struct Replacement {
    std::string capsule{};
    int from_version = 0;
    int to_version = 0;
  };

  std::string stream_id{};
  std::optional<std::int64_t> group{};  ///< of StreamConfig::groups; indexes are then the group's
  Frame frame{};
  cv::Size resolution{};  ///< of the picture; stays where nobody wants its pixels (Sink)
  std::vector<DetectionNode> objects{};
  std::vector<Drop> drops{};
  std::vector<CapsuleError> errors{};
  std::vector<OptionChange> option_changes{};  ///< where the frame of the change was dropped, in
  std::vector<Replacement> replacements{};     ///< the record that comes in its place
};

/// Schema "vcap.frame/1" (docs/records.md): one object, absent things left out.
VCAP_EXPORT void to_json(nlohmann::json& json, const FrameRecord& record);

}  // namespace vcap
