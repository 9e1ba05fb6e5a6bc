// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A file that gets its name only when it is complete.
///
/// Written under a hidden name in the same folder. commit() gives it its own name and replaces a
/// file of that name; processes that have the old file open keep it. Without commit() it is
/// removed. Thread safety: thread-compatible.
class VCAP_EXPORT OutputFile {
 public:
  /// What the path may name, besides a regular file that exists or is to be created.
  enum class Target {
    any,          ///< also a device, a pipe, or "-" for standard output; these are written in place
    regular_file  ///< only a regular file
  };

  /// Creates the file; throws OutputError (output_open) with the path and the remedy.
  explicit OutputFile(std::filesystem::path path, Target target = Target::any);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  /// The path that is written to: the hidden name, with the same extension; path() if in place.
  const std::filesystem::path& written_at() const noexcept { return written_at_; }

  /// Writes all bytes; throws OutputError (output_write).
  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// From now on, the bytes of a failed write at the end of the file are cut off again, if the file
  /// system allows that. More can then be written, and the file can be kept.
  void undo_failed_writes() noexcept { undo_ = true; }
  /// Whether the file ends with a part of a failed write.
  bool is_torn() const noexcept { return torn_; }
  /// Where the next write begins, in bytes; not for devices and pipes. Throws OutputError
  /// (output_write).
  void seek(std::int64_t place);
  /// Gives the file its final name; must be the last call. Syncs the file before and its folder
  /// afterwards. So after a power cut there is either the old file or the complete new one. Throws
  /// OutputError (output_write).
  void commit();

 private:
  void create_hidden();
  void take_back(std::size_t written) noexcept;
  [[noreturn]] void fail_write(int error) const;

  std::filesystem::path path_;
  std::filesystem::path written_at_;
  FileDescriptor descriptor_;
  std::int64_t place_ = 0;  ///< where the next write begins
  std::int64_t end_ = 0;    ///< of all that was written
  bool temporary_ = false;
  bool undo_ = false;
  bool torn_ = false;
};

}  // namespace vcap
