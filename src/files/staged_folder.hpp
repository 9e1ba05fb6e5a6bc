// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "files/file_descriptor.hpp"

namespace vcap {

/// A folder that gets its name when it is complete; otherwise it leaves nothing behind.
///
/// Every step uses the descriptor of the containing folder and follows no symbolic link. So nothing
/// is written or removed outside, even if other processes change the unfinished folder. All
/// functions throw OutputError. Thread safety: thread-compatible.
class StagedFolder {
 public:
  /// Throws (output_open) if `target` exists and is not an empty folder, or its parent is not
  /// writable.
  explicit StagedFolder(std::filesystem::path target);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder();

  /// Writes a new file and creates its folders; `name` must be a valid entry name. Throws
  /// (output_write).
  void write(std::string_view name, std::span<const std::byte> bytes);
  /// Gives the folder its name and syncs the parent, so that the name survives a power cut. Throws
  /// (output_write).
  void commit();

 private:
  FileDescriptor folder_of(std::string_view name) const;

  std::filesystem::path target_;
  FileDescriptor parent_;
  std::string staged_{};  ///< its name in the parent; empty if there is nothing to remove
  FileDescriptor root_;
};

}  // namespace vcap
