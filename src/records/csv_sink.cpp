// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "files/output_file.hpp"
#include "records/csv.hpp"
#include "records/export_names.hpp"
#include "records/export_sink.hpp"
#include "records/frame_table.hpp"
#include "records/node_columns.hpp"
#include "vcap/records/export_sinks.hpp"

namespace vcap {
namespace {

class CsvSink final : public ExportSink {
 public:
  explicit CsvSink(const std::string& path)
      : ExportSink(path, kCsvHolds),
        file_(path, OutputFile::Target::any, OutputFile::Unfinished::kept) {}

 private:
  void add(const FrameRecord& record) override {
    const std::string frame = frame_fields(record);
    std::string text;
    for (std::size_t i = 0; i < record.objects.size(); ++i)
      add_node(record.objects[i], std::to_string(i), frame, text);
    if (text.empty()) text.append(frame).append(kNodeColumns.size(), ',').append("\n");
    put(text);
  }
  std::string remains() const override { return file_.remains(); }
  void complete() override {
    if (!has_header_) put("");
    file_.commit();
  }

  /// With the header before the first record, so that a run without records leaves no file.
  void put(const std::string& text) {
    const std::string begin = file_.is_torn() ? "\n" : "";
    file_.write(begin + (has_header_ ? "" : header()) + text);
    has_header_ = true;
  }

  static std::string header() {
    std::string line;
    for (const std::string& name : kFrameColumns) line += (line.empty() ? "" : ",") + name;
    for (const std::string_view name : kNodeColumns) (line += ',') += name;
    return line + '\n';
  }

  static void add_node(const DetectionNode& node, const std::string& path, const std::string& frame,
                       std::string& text) {
    text += frame + ',' + csv_field(path) + node_fields(node) + '\n';
    for (std::size_t i = 0; i < node.children.size(); ++i)
      add_node(node.children[i], path + "." + std::to_string(i), frame, text);
  }

  OutputFile file_;
  bool has_header_ = false;
};

}  // namespace

std::unique_ptr<Sink> make_csv_sink(const std::string& path) {
  return std::make_unique<CsvSink>(path);
}

}  // namespace vcap
