// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include "vcap/records/event_record.hpp"
#include "vcap/records/record_reader.hpp"

namespace vcap::cli {

/// Declares how a file of records is read: its format, by that option, --frame-size
/// and --first-frame. `options`
/// must live as long as the command.
void add_read_options(CLI::App& command, const char* format, RecordReadOptions& options);

/// The files that the paths name. A folder that is not itself in a format of records, such as that
/// of a job, stands for its files *.jsonl, by name. Throws UsageError if it has none.
std::vector<std::string> record_files(const std::vector<std::string>& paths);

/// The records of files, one file after the other. Thread safety: thread-compatible.
class RecordFiles {
 public:
  explicit RecordFiles(std::vector<std::string> files, RecordReadOptions options = {})
      : files_(std::move(files)), options_(options) {}

  /// `nullopt` at the end of the last. Throws as open_records() and RecordReader::read().
  std::optional<FrameRecord> read();
  std::size_t opened() const noexcept { return opened_; }
  const std::vector<std::string>& files() const noexcept { return files_; }

 private:
  std::vector<std::string> files_;
  RecordReadOptions options_;
  std::size_t opened_ = 0;
  std::unique_ptr<RecordReader> reader_;
};

/// Shows on a terminal how far the reading is. Thread safety: thread-compatible.
class ReadingProgress {
 public:
  ReadingProgress() = default;
  ~ReadingProgress();
  ReadingProgress(const ReadingProgress&) = delete;
  ReadingProgress& operator=(const ReadingProgress&) = delete;

  /// `opened` of `files` have been begun.
  void show(std::size_t records, std::size_t opened, std::size_t files);

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
};

/// Reads an event journal from this byte on, one line at a time, and hands over its records. Parts
/// of lines at the end are left out. Returns the number of lines that are no event records. Throws
/// SourceError if it cannot be read.
std::size_t read_events(const std::string& path, std::uintmax_t from,
                        const std::function<void(const EventRecord&)>& on_record);

}  // namespace vcap::cli
