// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A folder that gets its name when it is complete; otherwise it leaves nothing behind.
///
/// Every step uses the descriptor of the containing folder and follows no symbolic link. So nothing
/// is written or removed outside, even if other processes change the unfinished folder. All
/// functions throw OutputError. Thread safety: thread-compatible.
class VCAP_EXPORT StagedFolder {
 public:
  /// When files are synced to the disk.
  enum class Sync {
    each,       ///< each file when it is written
    at_commit,  ///< the whole file system at commit(): for very many small files
  };

  /// Throws (output_open) if `target` exists and is not an empty folder, or its parent is not
  /// writable.
  explicit StagedFolder(std::filesystem::path target, Sync sync = Sync::each);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder();

  const std::filesystem::path& target() const noexcept { return target_; }

  /// Whether it has a file or folder of that name so far.
  bool contains(std::string_view name) const;
  /// Writes a new file and creates its folders; `name` must be a valid entry name. Throws
  /// (output_write); the file is then removed again.
  void write(std::string_view name, std::span<const std::byte> bytes);
  /// The same, of blocks that `give` passes to its argument. Exceptions of `give` are passed on.
  using Take = std::function<void(std::span<const std::byte>)>;
  void write_blocks(std::string_view name, const std::function<void(const Take&)>& give);
  /// Gives the folder its name and syncs the parent, so that the name survives a power cut. Throws
  /// (output_write).
  void commit();

 private:
  FileDescriptor folder_of(std::string_view name) const;

  std::filesystem::path target_;
  Sync sync_;
  FileDescriptor parent_;
  std::string staged_{};  ///< its name in the parent; empty if there is nothing to remove
  FileDescriptor root_;
};

}  // namespace vcap
