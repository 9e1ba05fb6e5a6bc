// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A file that gets its name only when it is complete.
///
/// Written under a hidden name in the same folder; commit() gives it its own, in place of a file of
/// that name, which those who have it open keep. Without commit() it is removed. Thread safety:
/// thread-compatible.
class VCAP_EXPORT OutputFile {
 public:
  /// What the path may name besides a regular file that is there or is to be.
  enum class Target {
    any,          ///< a device, a pipe, or "-" for standard output too: these are written in place
    regular_file  ///< nothing else
  };

  /// Creates it; throws OutputError (output_open) that names the path and the remedy.
  explicit OutputFile(std::filesystem::path path, Target target = Target::any);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  /// Where it is now: the hidden name, with the same extension.
  const std::filesystem::path& written_at() const noexcept { return written_at_; }

  /// Writes all of it; throws OutputError (output_write).
  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// From now on a write that fails leaves nothing of itself in the file, if the file system allows
  /// that, so that the file may be written further and kept.
  void undo_failed_writes() noexcept { undo_ = true; }
  /// Whether the last thing in it is a part of a write that failed.
  bool is_torn() const noexcept { return torn_; }
  /// Throws OutputError (output_write) if the file system has less than that many bytes left.
  void check_space(std::size_t bytes) const;
  /// Gives it its final name. The file is synced before and its folder after that, so that after a
  /// power cut there is either the old file or all of the new one. Throws OutputError
  /// (output_write). Nothing is written afterwards.
  void commit();

 private:
  void create_hidden();
  void take_back(std::size_t written) noexcept;
  [[noreturn]] void fail_write(int error) const;

  std::filesystem::path path_;
  std::filesystem::path written_at_;
  FileDescriptor descriptor_;
  bool temporary_ = false;
  bool undo_ = false;
  bool torn_ = false;
};

}  // namespace vcap
