// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// The formats that records can be read from (docs/exports.md).
enum class RecordFormat {
  json_lines,  ///< a file of make_json_lines_sink()
  coco,        ///< a file of instances, with images, annotations and categories
  mot,         ///< a sequence of MOT Challenge: its folder, or its gt.txt or results
  yolo,        ///< a folder of label files, or a data.yaml beside them
  csv,         ///< a file of make_csv_sink(), or another table with its columns
  voc,         ///< a folder of XML files of Pascal VOC, or one with Annotations/, or one such file
};

/// The name on the command line: "jsonl", "coco", "mot", "yolo", "csv", "voc".
/// Thread-safe.
VCAP_EXPORT std::string_view to_string(RecordFormat format) noexcept;

/// Gives back the records of a file or folder, one by one. Thread safety: thread-compatible.
///
/// What a format does not say stays empty: `resolution` is then 0 × 0, and pts are those of 25
/// frames per second. Frames have no pixels.
class VCAP_EXPORT RecordReader {
 public:
  RecordReader() = default;
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;
  virtual ~RecordReader();

  /// The next record; `nullopt` at the end. The first call after the last record logs once what was
  /// left out. Throws SourceError if the file cannot be read, and InvalidArgument with file, place
  /// (such as the line), value and remedy if it is invalid. No call is allowed after that.
  virtual std::optional<FrameRecord> read() = 0;
};

/// How records are read. Thread safety: value.
struct RecordReadOptions {
  /// `nullopt`: guess_record_format().
  std::optional<RecordFormat> format{};
  /// YOLO: the size of frames for which the folder has neither a frames.csv nor an image, in
  /// pixels. Empty: such a frame is an error if it has objects.
  cv::Size frame_size{};
  /// COCO: the number of the first frame in file names or ids; it becomes index 0.
  std::int64_t first_frame = 0;
};

/// The format that the path shows by its extension, its content or, of a folder, its files;
/// `nullopt` if none. Throws SourceError if it cannot be read. Thread-safe.
VCAP_EXPORT std::optional<RecordFormat> guess_record_format(const std::string& path);

/// Opens records of any of the formats. JSON lines and CSV are read in constant memory, and VOC
/// file by file; the other formats need memory for their objects (COCO: about ten times the file).
///
/// Throws SourceError if it cannot be read; InvalidArgument if the format is not clear, or the
/// beginning of the file is invalid.
VCAP_EXPORT std::unique_ptr<RecordReader> open_records(const std::string& path,
                                                       const RecordReadOptions& options = {});

}  // namespace vcap
