// SPDX-License-Identifier: Apache-2.0
#include "cli/record_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "files/strict_json.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

cv::Size parse_size(const std::string& text) {
  cv::Size size;
  const char* const end = text.data() + text.size();
  const auto [x, failed] = std::from_chars(text.data(), end, size.width);
  bool is_size = failed == std::errc() && x != end && *x == 'x';
  if (is_size) {
    const auto [stop, wrong] = std::from_chars(x + 1, end, size.height);
    is_size = wrong == std::errc() && stop == end && size.width > 0 && size.height > 0;
  }
  if (!is_size)
    throw UsageError("--frame-size " + quote(text) + ": write WIDTHxHEIGHT, such as 1920x1080");
  return size;
}

}  // namespace

void add_read_options(CLI::App& command, const char* format, RecordReadOptions& options) {
  static constexpr std::array kFormats{RecordFormat::json_lines, RecordFormat::coco,
                                       RecordFormat::mot,        RecordFormat::yolo,
                                       RecordFormat::csv,        RecordFormat::voc};
  command
      .add_option_function<std::string>(
          format,
          [&options](const std::string& name) {
            options.format =
                *std::ranges::find(kFormats, name, [](RecordFormat one) { return to_string(one); });
          },
          "The format of the input (default: shown by its name and content)")
      ->type_name("jsonl|coco|mot|yolo|csv|voc")
      ->check(CLI::IsMember({"jsonl", "coco", "mot", "yolo", "csv", "voc"}).description(""));
  command
      .add_option_function<std::string>(
          "--frame-size",
          [&options](const std::string& text) { options.frame_size = parse_size(text); },
          "The size of the frames of YOLO labels that have neither images nor a frames.csv")
      ->type_name("WIDTHxHEIGHT");
  command
      .add_option("--first-frame", options.first_frame,
                  "The number of the first frame in file names or ids of COCO (default: 0)")
      ->type_name("N");
}

std::vector<std::string> record_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code unknown;
    if (!fs::is_directory(path, unknown) || guess_record_format(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (fs::directory_iterator at(path, unknown), end; !unknown && at != end;
         at.increment(unknown))
      if (at->path().extension() == ".jsonl") found.push_back(at->path().string());
    if (unknown)
      throw SourceError(ErrorCode::source_open,
                        "folder " + path + " cannot be read: " + unknown.message());
    if (found.empty())
      throw UsageError("folder " + path +
                       " has no files *.jsonl; give the folder of a job, or files of vcap run "
                       "--jsonl");
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::optional<FrameRecord> RecordFiles::read() {
  while (true) {
    if (!reader_) {
      if (opened_ == files_.size()) return std::nullopt;
      reader_ = open_records(files_[opened_++], options_);
    }
    if (std::optional<FrameRecord> record = reader_->read()) return record;
    reader_.reset();
  }
}

ReadingProgress::~ReadingProgress() { Console::shared().end_progress(); }

void ReadingProgress::show(std::size_t records, std::size_t opened, std::size_t files) {
  constexpr std::size_t kEach = 256;  // records for which the clock is not looked at
  if (records % kEach != 0) return;
  const auto now = Clock::now();
  if (now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  char text[128];
  std::snprintf(text, sizeof text, "%zu records, %.0f records/s", records,
                static_cast<double>(records) / std::chrono::duration<double>(now - begin_).count());
  std::string line = text;
  if (files > 1) line += ", file " + std::to_string(opened) + " of " + std::to_string(files);
  Console::shared().progress(line);
}

std::size_t read_events(const std::string& path, std::uintmax_t from,
                        const std::function<void(const EventRecord&)>& on_record) {
  std::ifstream file(path, std::ios::binary);
  std::error_code unknown;
  if (!file || fs::is_directory(path, unknown))
    throw SourceError(ErrorCode::source_open, "event journal " + path +
                                                  " cannot be read; check the path and its "
                                                  "permissions");
  file.seekg(static_cast<std::streamoff>(from));
  std::size_t damaged = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    std::optional<EventRecord> record;
    try {
      record = parse_strictly(line).get<EventRecord>();
    } catch (const InvalidArgument&) {
      ++damaged;
    }
    if (record) on_record(*record);
  }
  return damaged;
}

}  // namespace vcap::cli
