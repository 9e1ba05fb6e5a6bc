// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "files/file_descriptor.hpp"

namespace vcap {

/// The file of an event journal: whole lines are appended to it in place. Thread safety:
/// thread-compatible.
class EventFile {
 public:
  /// Opens or creates the file, and locks it against other processes and sinks. If an earlier
  /// process left a part of a line, cuts it off; if it left open events, ends them with reason
  /// `interrupted`. A warning says what was found. `has_clip` is called for the clip of each line:
  /// whether there is a file of that name, perhaps given to it only now; null: there is none. An
  /// event that is ended now has only a clip that is there. Throws OutputError.
  EventFile(std::string path, bool sync,
            const std::function<bool(const std::string& clip)>& has_clip = {});

  const std::string& path() const noexcept { return path_; }
  int descriptor() const noexcept { return file_.get(); }
  std::uint64_t inode() const noexcept { return inode_; }
  /// The end of the whole lines, in bytes; now, and when the file was opened.
  std::int64_t end() const noexcept { return end_; }
  std::int64_t found_end() const noexcept { return found_end_; }

  /// Appends whole lines, and removes from `lines` those that are now in the file: all, unless it
  /// throws OutputError (output_write).
  void append(std::string& lines);
  /// Waits until the disk has stored all. Throws OutputError (output_write).
  void store();

 private:
  void open();
  void repair(const std::function<bool(const std::string& clip)>& has_clip);
  [[noreturn]] void fail_open(const std::string& why) const;
  [[noreturn]] void fail_write(int error) const;

  const std::string path_;
  const bool sync_;
  FileDescriptor file_;
  std::uint64_t inode_ = 0;
  std::int64_t end_ = 0;  ///< of the whole lines
  std::int64_t found_end_ = 0;
  bool torn_ = false;  ///< a part of a line follows them, which could not be cut off
};

}  // namespace vcap
