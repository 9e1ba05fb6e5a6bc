// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"
#include "vcap/records/recorded_frames.hpp"

namespace vcap {

/// Frames in a row that a recording has lost. Thread safety: value.
struct LostFrames {
  std::int64_t frame_index = 0;  ///< of the first one
  std::int64_t count = 1;
  bool operator==(const LostFrames&) const = default;
};

/// Where a picture lies in the file of pictures, in bytes. Thread safety: value.
struct PicturePlace {
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::uint32_t crc32 = 0;  ///< of the bytes
  bool operator==(const PicturePlace&) const = default;
};

/// What a recording holds of one frame besides its picture: one line of JSON (docs/replay.md).
/// Thread safety: value.
struct RecordingLine {
  Frame frame{};  ///< without pixels
  cv::Size resolution{};
  RecordedFrame recorded{};
  std::optional<PicturePlace> picture{};
  std::vector<LostFrames> lost{};  ///< before this frame
};

/// The line, with its newline. Thread-safe.
VCAP_EXPORT std::string recording_line(const FrameRecord& record,
                                       const std::optional<PicturePlace>& picture,
                                       const std::vector<LostFrames>& lost);

/// Reads a line. `stand_ins`: the capsules whose results are wanted; without any, there are no
/// objects. Throws InvalidArgument (invalid_json). Thread-safe.
VCAP_EXPORT RecordingLine parse_recording_line(std::string_view line,
                                               const std::set<std::string>& stand_ins);

}  // namespace vcap
