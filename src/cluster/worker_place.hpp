// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "files/file_descriptor.hpp"

namespace vcap {

/// A folder that a worker has to itself, in one that several workers of a machine may share. It is
/// locked as long as the worker's process lives, and kept for the next worker, which sends what is
/// left in its spool. Thread safety: thread-safe, since it is constant.
class WorkerPlace {
 public:
  /// Takes the first free one of FOLDER/worker-0, worker-1 and so on. Removes what workers that
  /// have died were writing. Throws OutputError.
  explicit WorkerPlace(const std::filesystem::path& folder);
  WorkerPlace(const WorkerPlace&) = delete;
  WorkerPlace& operator=(const WorkerPlace&) = delete;

  const std::filesystem::path& folder() const& noexcept { return folder_; }
  const std::filesystem::path& folder() const&& = delete;
  /// For files that are being written.
  std::filesystem::path work() const { return folder_ / "work"; }
  /// A name for the worker: the host's, a digest of the folder, and the number of its place.
  const std::string& name() const& noexcept { return name_; }
  const std::string& name() const&& = delete;

 private:
  std::filesystem::path folder_;
  std::string name_;
  FileDescriptor lock_;
};

}  // namespace vcap
