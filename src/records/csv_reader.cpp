// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "records/csv.hpp"
#include "records/node_columns.hpp"
#include "records/readers.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// Nodes below each other; capsules cannot give more (OutputPolicy).
constexpr std::size_t kDeepestNode = 64;

/// A record for each run of rows of one frame.
class CsvRecordReader final : public RecordReader {
 public:
  explicit CsvRecordReader(const std::string& path)
      : reader_(path),
        stream_(std::filesystem::path(path).stem().string()),
        header_(header()),
        columns_(reader_.input(), header_) {
    if (!columns_.has("frame_index"))
      reader_.input().fail("line 1", "the column frame_index is missing" + kColumnsNeeded);
    if (!columns_.has("name"))
      reader_.input().fail("line 1", "the column name is missing" + kColumnsNeeded);
    note_unknown(path);
    row_ = reader_.read();
  }

  std::optional<FrameRecord> read() override {
    if (!row_) return std::nullopt;
    FrameRecord record = frame_of_row();
    const FrameRecord first = record;
    is_empty_ = false;
    while (row_) {
      add_node(record);
      row_ = reader_.read();
      if (row_ && !is_same(first, frame_of_row())) break;
    }
    return record;
  }

 private:
  static inline const std::string kColumnsNeeded =
      "; the first line must name the columns, of which frame_index and name are needed "
      "(docs/exports.md)";

  std::vector<std::string> header() {
    auto row = reader_.read();
    if (!row) reader_.input().fail("", "the file is empty" + kColumnsNeeded);
    return *row;
  }

  void note_unknown(const std::string& path) const {
    std::vector<std::string> unknown;
    for (const std::string& name : header_)
      if (std::ranges::find(kFrameColumns, name) == kFrameColumns.end() &&
          std::ranges::find(kNodeColumns, name) == kNodeColumns.end())
        unknown.push_back(name);
    if (!unknown.empty())
      log(LogLevel::warning, path + ": these columns are not read: " + quote_list(unknown));
  }

  FrameRecord frame_of_row() {
    if (row_->size() > columns_.size())
      reader_.input().fail(reader_.place(), "it has " + counted(row_->size(), "field") + ", but " +
                                                counted(columns_.size(), "column") + " are named");
    return read_frame_fields(reader_.input(), reader_.place(), columns_, *row_, stream_);
  }

  static bool is_same(const FrameRecord& a, const FrameRecord& b) {
    return a.stream_id == b.stream_id && a.group == b.group && a.frame.index == b.frame.index;
  }

  void add_node(FrameRecord& record) {
    const std::string& path = columns_.field(*row_, "node");
    const bool is_without =
        columns_.has("node") ? path.empty() : columns_.field(*row_, "name").empty();
    if (is_empty_ || (is_without && !record.objects.empty()))
      reader_.input().fail(reader_.place(),
                           "a row without a node must be the only one of its frame");
    is_empty_ = is_without;
    if (is_without) return;
    std::vector<DetectionNode>& list =
        columns_.has("node") ? list_for(record, path) : record.objects;
    list.push_back(read_node_fields(reader_.input(), reader_.place(), columns_, *row_));
  }

  /// The list that the node at this path ends.
  std::vector<DetectionNode>& list_for(FrameRecord& record, std::string_view path) const {
    const std::string whole(path);
    std::vector<DetectionNode>* list = &record.objects;
    for (std::size_t level = 1;; ++level) {
      const std::size_t dot = path.find('.');
      const std::string_view text = path.substr(0, dot);
      std::size_t place = 0;
      const char* const end = text.data() + text.size();
      const auto [stop, failed] = std::from_chars(text.data(), end, place);
      const bool is_last = dot == std::string_view::npos;
      if (failed != std::errc() || stop != end || level > kDeepestNode ||
          (is_last ? place != list->size() : place >= list->size()))
        reader_.input().fail(reader_.place(),
                             "node is " + quote(whole) +
                                 "; nodes are 0, 1, …, the children of 0 are 0.0, 0.1, …, and each "
                                 "stands behind its parent and the one before it");
      if (is_last) return *list;
      list = &(*list)[place].children;
      path.remove_prefix(dot + 1);
    }
  }

  CsvReader reader_;
  const std::string stream_;
  const std::vector<std::string> header_;
  const TableColumns columns_;
  std::optional<std::vector<std::string>> row_;  ///< the next one
  bool is_empty_ = false;                        ///< the frame has a row without a node
};

}  // namespace

std::unique_ptr<RecordReader> open_csv_records(const std::string& path) {
  return std::make_unique<CsvRecordReader>(path);
}

}  // namespace vcap
