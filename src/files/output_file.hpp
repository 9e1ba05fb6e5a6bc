// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A file that gets its name only when it is complete.
///
/// Written under another name in the same folder. commit() gives it its own name and replaces a
/// file of that name; processes that have the old file open keep it. The folder is held open, so a
/// change of the working directory changes nothing. Thread safety: thread-compatible.
class VCAP_EXPORT OutputFile {
 public:
  /// What the path may name, besides a regular file that exists or is to be created.
  enum class Target {
    any,          ///< also a device, a pipe, or "-" for standard output; these are written in place
    regular_file  ///< only a regular file
  };
  /// What becomes of a file that is not committed.
  enum class Unfinished {
    /// It has a hidden name, and is removed.
    removed,
    /// It is called NAME.part, and stays unless it is empty. While it is written, another
    /// OutputFile
    /// for the same path is refused, also in another process. If an earlier process has left a
    /// NAME.part, that file is renamed to NAME.part.1, or the next free number, and a warning says
    /// so.
    kept
  };

  /// Creates the file; throws OutputError (output_open) with the path and the remedy.
  explicit OutputFile(std::filesystem::path path, Target target = Target::any,
                      Unfinished unfinished = Unfinished::removed);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  /// The path that is written to, as seen from the working directory at the start; path() if in
  /// place.
  const std::filesystem::path& written_at() const noexcept { return written_at_; }
  /// What is left if the file is not committed, for a message: "what was written is kept in
  /// a.jsonl.part". Empty if nothing is left.
  std::string remains() const;

  /// Writes all bytes; throws OutputError (output_write). The bytes of a failed write at the end of
  /// the file are cut off again, if the file system allows that. More can then be written.
  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// Whether the file ends with a part of a failed write.
  bool is_torn() const noexcept { return torn_; }
  /// Where the next write begins, in bytes; not for devices and pipes. Throws OutputError
  /// (output_write).
  void seek(std::int64_t place);
  /// Gives the file its final name; must be the last call. Syncs the file before and its folder
  /// afterwards. So after a power cut there is either the old file or the complete new one. Throws
  /// OutputError (output_write).
  void commit();
  /// Removes the unfinished file, whatever Unfinished says; must be the last call.
  void discard() noexcept;

 private:
  void open_folder();
  void remember_file();
  void create_hidden();
  void create_part();
  bool lock(const FileDescriptor& file) const;
  void set_aside();
  bool is_at(int file, const std::string& name) const noexcept;
  bool is_own() const noexcept;
  void take_back(std::size_t written) noexcept;
  [[noreturn]] void fail_open(const std::string& why) const;
  [[noreturn]] void fail_write(int error) const;

  std::filesystem::path path_;
  std::filesystem::path written_at_;
  const Unfinished unfinished_;
  FileDescriptor folder_;
  std::string written_name_;  ///< within the folder
  FileDescriptor descriptor_;
  dev_t device_ = 0;  ///< with inode_: which file the descriptor was opened for
  ino_t inode_ = 0;
  std::int64_t place_ = 0;  ///< where the next write begins
  std::int64_t end_ = 0;    ///< of all that was written
  bool temporary_ = false;
  bool torn_ = false;
};

}  // namespace vcap
