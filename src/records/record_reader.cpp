// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/record_reader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/strict_json.hpp"
#include "records/csv.hpp"
#include "records/readers.hpp"
#include "records/record_line.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLineNeeded =
    "; expected is a file of vcap run --jsonl, with one record per line (docs/records.md)";

class JsonLinesReader final : public RecordReader {
 public:
  explicit JsonLinesReader(const std::string& path) : input_(path), file_(input_.open()) {}

  std::optional<FrameRecord> read() override {
    while (std::getline(file_, line_)) {
      ++number_;
      if (line_.find_first_not_of(" \t\r") != std::string::npos) return record();
    }
    if (file_.bad())
      throw SourceError(ErrorCode::source_read, input_.path() + " cannot be read further");
    return std::nullopt;
  }

 private:
  FrameRecord record() const {
    try {
      return parse_strictly(line_, kMostRecordLevels).get<FrameRecord>();
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(
          ErrorCode::invalid_json,
          input_.path() + ", line " + std::to_string(number_) + ": " + error.what() + kLineNeeded);
    }
  }

  const InputFile input_;
  std::ifstream file_;
  std::string line_;
  std::size_t number_ = 0;
};

/// Whether there is such a file in or below the folder.
bool has_file(const fs::path& folder, const char* extension) {
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) return false;
  for (fs::recursive_directory_iterator at(folder, unknown), end; !unknown && at != end;
       at.increment(unknown))
    if (at->path().extension() == extension) return true;
  return false;
}

std::optional<RecordFormat> format_of_folder(const fs::path& folder) {
  const auto has = [&folder](const char* name) {
    std::error_code unknown;
    return fs::exists(folder / name, unknown);
  };
  if (has("gt/gt.txt") || has("det/det.txt") || has("gt.txt") || has("seqinfo.ini"))
    return RecordFormat::mot;
  if (has("data.yaml") || has("frames.csv") || has("classes.txt")) return RecordFormat::yolo;
  if (has_file(folder / "labels", ".txt")) return RecordFormat::yolo;
  if (has_file(folder / "Annotations", ".xml")) return RecordFormat::voc;
  std::error_code unknown;
  for (fs::directory_iterator at(folder, unknown), end; !unknown && at != end;
       at.increment(unknown))
    if (at->path().extension() == ".xml") return RecordFormat::voc;
  return std::nullopt;
}

/// A file of JSON whose first line is a whole object with a frame_index has a record per line.
RecordFormat format_of_json(const std::string& path) {
  std::ifstream file = InputFile(path).open();
  std::string line;
  std::getline(file, line);
  const auto first = nlohmann::json::parse(line, nullptr, false);
  return first.is_object() && first.contains("frame_index") ? RecordFormat::json_lines
                                                            : RecordFormat::coco;
}

}  // namespace

RecordReader::~RecordReader() = default;

std::string_view to_string(RecordFormat format) noexcept {
  switch (format) {
    case RecordFormat::json_lines:
      return "jsonl";
    case RecordFormat::coco:
      return "coco";
    case RecordFormat::mot:
      return "mot";
    case RecordFormat::yolo:
      return "yolo";
    case RecordFormat::csv:
      return "csv";
    case RecordFormat::voc:
      return "voc";
  }
  return "unknown";
}

std::optional<RecordFormat> guess_record_format(const std::string& path) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) return format_of_folder(path);
  std::string extension = fs::path(path).extension().string();
  for (char& letter : extension)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  if (extension == ".jsonl" || extension == ".ndjson") return RecordFormat::json_lines;
  if (extension == ".json") return format_of_json(path);
  if (extension == ".txt") return RecordFormat::mot;
  if (extension == ".yaml" || extension == ".yml") return RecordFormat::yolo;
  if (extension == ".csv") return RecordFormat::csv;
  if (extension == ".xml") return RecordFormat::voc;
  return std::nullopt;
}

std::unique_ptr<RecordReader> open_records(const std::string& path,
                                           const RecordReadOptions& options) {
  const auto format = options.format ? options.format : guess_record_format(path);
  if (!format) {
    std::error_code unknown;
    if (!fs::exists(path, unknown)) static_cast<void>(InputFile(path).open());  // throws
    throw InvalidArgument(ErrorCode::invalid_argument,
                          path +
                              ": its name and files do not show its format; give jsonl, coco, "
                              "mot, yolo, csv or voc");
  }
  switch (*format) {
    case RecordFormat::json_lines:
      return open_json_lines_records(path);
    case RecordFormat::coco:
      return open_coco_records(path, options.first_frame);
    case RecordFormat::mot:
      return open_mot_records(path);
    case RecordFormat::yolo:
      return open_yolo_records(path, options.frame_size);
    case RecordFormat::voc:
      return open_voc_records(path);
    case RecordFormat::csv:
      break;
  }
  return open_csv_records(path);
}

std::unique_ptr<RecordReader> open_json_lines_records(const std::string& path) {
  return std::make_unique<JsonLinesReader>(path);
}

std::chrono::nanoseconds pts_of_frame(std::int64_t index) {
  constexpr std::int64_t kDuration = 40'000'000;
  return std::chrono::nanoseconds(std::min(index, std::int64_t{1} << 37) * kDuration);
}

Discontinuity discontinuity_in(const InputFile& input, const std::string& text,
                               const std::string& place) {
  for (const Discontinuity one :
       {Discontinuity::none, Discontinuity::start, Discontinuity::gap, Discontinuity::seek,
        Discontinuity::reconnect, Discontinuity::loop})
    if (to_string(one) == text) return one;
  input.fail(place, "discontinuity is " + quote(text) +
                        "; it must be none, start, gap, seek, reconnect or loop");
}

}  // namespace vcap
