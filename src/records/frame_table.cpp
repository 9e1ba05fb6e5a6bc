// SPDX-License-Identifier: Apache-2.0
#include "records/frame_table.hpp"

#include <limits>

#include "base/text.hpp"
#include "records/csv.hpp"
#include "records/readers.hpp"

namespace vcap {
namespace {

int table_side(const InputFile& input, const std::string& text, const char* what,
               const std::string& place) {
  if (text.empty()) return 0;
  const std::int64_t side = input.integer_in(text, what, place);
  if (side < 0 || side > std::numeric_limits<int>::max())
    input.fail(place, std::string(what) + " is " + text + "; it must be from 0 to " +
                          std::to_string(std::numeric_limits<int>::max()));
  return static_cast<int>(side);
}

std::int64_t table_count(const InputFile& input, const std::string& text, const char* what,
                         const std::string& place) {
  const std::int64_t count = input.integer_in(text, what, place);
  if (count < 0) input.fail(place, std::string(what) + " is " + text + "; it must be >= 0");
  return count;
}

}  // namespace

std::string frame_fields(const FrameRecord& record) {
  const Frame& frame = record.frame;
  const cv::Size size = frame.image.empty() ? record.resolution : frame.image.size();
  std::string text = csv_field(record.stream_id) + ',';
  if (record.group) text += std::to_string(*record.group);
  text += ',' + std::to_string(frame.index) + ',' + std::to_string(frame.pts.count()) + ',';
  if (frame.discontinuity != Discontinuity::none) text += to_string(frame.discontinuity);
  text += frame.is_null ? ",true," : ",,";
  text += std::to_string(size.width) + ',' + std::to_string(size.height) + ',';
  return text += csv_field(frame.source_file);
}

TableColumns::TableColumns(const InputFile& input, const std::vector<std::string>& header) {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (!places_.try_emplace(header[i], i).second)
      input.fail("line 1", "the column " + quote(header[i]) + " is there twice");
}

const std::string& TableColumns::field(const std::vector<std::string>& row,
                                       const std::string& name) const {
  static const std::string none;
  const auto found = places_.find(name);
  return found == places_.end() || found->second >= row.size() ? none : row[found->second];
}

FrameRecord read_frame_fields(const InputFile& input, const std::string& place,
                              const TableColumns& columns, const std::vector<std::string>& row,
                              const std::string& stream) {
  const auto text = [&](const char* name) -> const std::string& {
    return columns.field(row, name);
  };
  FrameRecord record{.stream_id = columns.has("stream_id") ? text("stream_id") : stream};
  if (!text("group").empty()) record.group = table_count(input, text("group"), "group", place);
  Frame& frame = record.frame;
  frame.index = table_count(input, text("frame_index"), "frame_index", place);
  const std::string& pts = text("pts_ns");
  frame.pts = pts.empty() ? pts_of_frame(frame.index)
                          : std::chrono::nanoseconds(input.integer_in(pts, "pts_ns", place));
  if (!text("discontinuity").empty())
    frame.discontinuity = discontinuity_in(input, text("discontinuity"), place);
  const std::string& null = text("null");
  frame.is_null = null == "true";
  if (!null.empty() && null != "true" && null != "false")
    input.fail(place, "null is " + quote(null) + "; it must be true, false or empty");
  frame.source_file = text("source_file");
  record.resolution = {table_side(input, text("width"), "width", place),
                       table_side(input, text("height"), "height", place)};
  return record;
}

}  // namespace vcap
