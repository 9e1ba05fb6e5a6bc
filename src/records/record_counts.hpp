// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// What records hold, counted; counts of slices add up to those of their stream. Thread safety:
/// value.
struct VCAP_EXPORT RecordCounts {
  using Counts = std::map<std::string, std::int64_t>;

  std::int64_t frames = 0;
  std::int64_t failed_frames = 0;
  std::string first_error{};  ///< "frame 7: capsule x: what it said"; empty where there is none
  std::int64_t frames_with_objects = 0;
  Counts objects{};                            ///< by name, children too
  std::map<std::string, Counts> attributes{};  ///< by category and value
  std::int64_t encodings = 0;

  void add(const FrameRecord& record);
  /// Those of frames that come later.
  void add(const RecordCounts& later);
  bool every_frame_failed() const noexcept { return frames > 0 && failed_frames == frames; }

  /// Lines of a summary: of frames that failed, and what was found in how many.
  void print_objects(std::ostream& out) const;
  /// Of attributes and encodings.
  void print_details(std::ostream& out) const;

  bool operator==(const RecordCounts&) const = default;

 private:
  void add(const DetectionNode& node);
};

VCAP_EXPORT void to_json(nlohmann::json& json, const RecordCounts& counts);
VCAP_EXPORT void from_json(const nlohmann::json& json, RecordCounts& counts);

/// The beginning of a summary's line, up to where its value stands.
VCAP_EXPORT std::ostream& print_label(std::ostream& out, const std::string& text);

}  // namespace vcap
