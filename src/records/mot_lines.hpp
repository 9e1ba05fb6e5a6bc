// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "records/input_file.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// A line of MOT Challenge: frame, id, left, top, width, height, confidence, class, visibility.
/// Thread safety: value.
struct MotLine {
  std::vector<double> values{};  ///< all columns
  std::string place{};
  std::int64_t frame = 0;  ///< from 0
  std::int64_t id = 0;     ///< -1: no track
  BoundingBox box{};
  std::optional<std::int64_t> class_number{};  ///< only lines of 8 or 9 columns have a class
};

/// Throws InvalidArgument that names file, line and column. Thread-safe.
VCAP_EXPORT MotLine read_mot_line(const InputFile& input, std::string_view text, std::size_t number,
                                  std::size_t least_columns);

/// Finds ids that a frame has twice. Thread safety: thread-compatible.
class VCAP_EXPORT MotIds {
 public:
  /// Throws InvalidArgument that names the line.
  void add(const InputFile& input, const MotLine& line);

 private:
  std::unordered_map<std::int64_t, std::unordered_set<std::int64_t>> seen_;
};

}  // namespace vcap
