// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "records/input_file.hpp"
#include "vcap/records/record_reader.hpp"

namespace vcap {

// Readers of one format each; they throw like open_records().
std::unique_ptr<RecordReader> open_json_lines_records(const std::string& path);
std::unique_ptr<RecordReader> open_coco_records(const std::string& path, std::int64_t first_frame);
std::unique_ptr<RecordReader> open_mot_records(const std::string& path);
std::unique_ptr<RecordReader> open_yolo_records(const std::string& path, cv::Size frame_size);
std::unique_ptr<RecordReader> open_csv_records(const std::string& path);
std::unique_ptr<RecordReader> open_voc_records(const std::string& path);

/// The time of a frame if a format has none: 25 frames per second, as for images.
std::chrono::nanoseconds pts_of_frame(std::int64_t index);

/// Throws InvalidArgument that names the place.
Discontinuity discontinuity_in(const InputFile& input, const std::string& text,
                               const std::string& place);

}  // namespace vcap
