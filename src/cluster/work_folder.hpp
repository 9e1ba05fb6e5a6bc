// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "files/file_descriptor.hpp"

namespace vcap {

/// A folder for files that are being written, below a folder that several processes share. It is
/// locked as long as its process lives, and removed with this object. What processes that died have
/// left there is removed by the next one. Not copied. Thread safety: thread-safe, since it is
/// constant.
class WorkFolder {
 public:
  /// Creates both folders. Throws OutputError.
  explicit WorkFolder(const std::filesystem::path& shared);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  const std::filesystem::path path_;
  FileDescriptor lock_;
};

}  // namespace vcap
