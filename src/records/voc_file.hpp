// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <opencv2/core/types.hpp>

#include "records/input_file.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// What a file of Pascal VOC says of a picture. Thread safety: value.
struct VocFile {
  std::string folder{};    ///< empty if it is missing
  std::string filename{};  ///< the same
  cv::Size size{};         ///< empty if it is missing or 0
  std::vector<DetectionNode> objects{};
  /// What has no place in a record, such as "pose", with its count.
  std::map<std::string, std::int64_t> left_out{};
};

/// Reads the file. Throws SourceError if it cannot be read, and InvalidArgument with the line, the
/// value and what is allowed. Thread-safe.
VocFile read_voc_file(const InputFile& input);

}  // namespace vcap
