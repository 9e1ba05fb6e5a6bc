// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "records/input_file.hpp"
#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// The columns of a frame in tables: CSV files, and frames.csv of a YOLO folder.
inline const std::vector<std::string> kFrameColumns{"stream_id", "group",         "frame_index",
                                                    "pts_ns",    "discontinuity", "null",
                                                    "width",     "height",        "source_file"};

/// The frame's fields as CSV, separated by commas, in the order of kFrameColumns. Thread-safe.
std::string frame_fields(const FrameRecord& record);

/// Where the columns of a table are. Thread safety: value.
class TableColumns {
 public:
  /// Throws InvalidArgument if a name is there twice.
  TableColumns(const InputFile& input, const std::vector<std::string>& header);

  bool has(const std::string& name) const { return places_.contains(name); }
  std::size_t size() const noexcept { return places_.size(); }
  /// Empty if the table lacks the column, or the row ends before it.
  const std::string& field(const std::vector<std::string>& row, const std::string& name) const;

 private:
  std::map<std::string, std::size_t> places_;
};

/// The frame of a row, without objects. `stream`: if there is no stream_id. Throws InvalidArgument
/// that names the place and the column. Thread-safe.
FrameRecord read_frame_fields(const InputFile& input, const std::string& place,
                              const TableColumns& columns, const std::vector<std::string>& row,
                              const std::string& stream);

}  // namespace vcap
