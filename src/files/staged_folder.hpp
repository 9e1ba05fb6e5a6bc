// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A folder that gets its name when it is complete, and leaves nothing where it is not.
///
/// Every step goes by the descriptor of the folder that it happens in and follows no symbolic link,
/// so that nothing is written or removed outside, whatever somebody else puts into the unfinished
/// folder. All throw OutputError. Thread safety: thread-compatible.
class VCAP_EXPORT StagedFolder {
 public:
  /// (output_open) where `target` exists and is no empty folder, or its parent cannot be written.
  explicit StagedFolder(std::filesystem::path target);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder();

  /// Writes a new file, with the folders on its way; `name` is a sound entry name. (output_write)
  void write(std::string_view name, std::span<const std::byte> bytes);
  /// Syncs the parent folder, so that the name survives a power cut. (output_write)
  void commit();

 private:
  FileDescriptor folder_of(std::string_view name) const;

  std::filesystem::path target_;
  FileDescriptor parent_;
  std::string staged_{};  ///< its name in the parent; empty once there is nothing to remove
  FileDescriptor root_;
};

}  // namespace vcap
