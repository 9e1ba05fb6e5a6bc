// SPDX-License-Identifier: Apache-2.0
#include "cli/record_files.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "files/strict_json.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {

namespace fs = std::filesystem;

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
      reader_ = open_records(files_[opened_++]);
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
