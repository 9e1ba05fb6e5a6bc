// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// A file that gets its name only when it is whole.
///
/// Written under a hidden temporary name in the same folder, given its final one by commit(), and
/// removed where that was not called. What is no regular file (a device, a pipe, "-" for standard
/// output) is written in place. Thread safety: thread-compatible.
class VCAP_EXPORT OutputFile {
 public:
  /// Creates it; throws OutputError (output_open) naming the path and the remedy.
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  /// Where it is now: the temporary name, with the same extension.
  const std::filesystem::path& written_at() const noexcept { return written_at_; }

  /// Writes all of it; throws OutputError (output_write).
  void write(std::string_view bytes);
  /// From now on a write that fails leaves nothing behind where that can be had, so that the file
  /// may be written further and kept.
  void undo_failed_writes() noexcept { undo_ = true; }
  /// Whether the last thing in it is a part of a write that failed.
  bool is_torn() const noexcept { return torn_; }
  /// Throws OutputError (output_write) where the file system has less than that many bytes left.
  void check_space(std::size_t bytes) const;
  /// Gives it its final name; throws OutputError (output_write). Nothing is written afterwards.
  void commit();

 private:
  void take_back(std::size_t written) noexcept;
  [[noreturn]] void fail_write(int error) const;

  std::filesystem::path path_;
  std::filesystem::path written_at_;
  int descriptor_ = -1;
  bool temporary_ = false;
  bool undo_ = false;
  bool torn_ = false;
};

}  // namespace vcap
