// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/media/broken_pictures.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// Counts of what records contain, and of their source's broken pictures; counts of slices add up
/// to those of their stream. Thread safety: value.
struct VCAP_EXPORT RecordCounts {
  using Counts = std::map<std::string, std::int64_t>;

  std::int64_t frames = 0;
  std::int64_t failed_frames = 0;
  std::string first_error{};  ///< "frame 7: capsule x: its message"; empty if there is none
  std::int64_t frames_with_objects = 0;
  Counts objects{};                            ///< by name, including children
  std::map<std::string, Counts> attributes{};  ///< by category and value
  std::int64_t encodings = 0;
  BrokenPictures broken_pictures{};  ///< not by add(record)

  void add(const FrameRecord& record);
  /// Adds the counts of later frames.
  void add(const RecordCounts& later);
  bool every_frame_failed() const noexcept { return frames > 0 && failed_frames == frames; }

  /// Prints summary lines: broken pictures if there are any, failed frames, objects, frames with
  /// objects.
  void print_objects(std::ostream& out) const;
  /// Prints summary lines: attributes and encodings.
  void print_details(std::ostream& out) const;

  bool operator==(const RecordCounts&) const = default;

 private:
  void add(const DetectionNode& node);
};

VCAP_EXPORT void to_json(nlohmann::json& json, const RecordCounts& counts);
VCAP_EXPORT void from_json(const nlohmann::json& json, RecordCounts& counts);

/// Prints the label of a summary line, padded to the column of its value.
VCAP_EXPORT std::ostream& print_label(std::ostream& out, const std::string& text);

}  // namespace vcap
