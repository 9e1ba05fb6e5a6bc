// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace vcap::test {

/// A disk of its own in a folder, which a test fills. Only a privileged process has one.
/// Thread safety: thread-compatible.
class SmallDisk {
 public:
  SmallDisk(std::filesystem::path folder, const std::string& size) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    exists_ = ::mount("none", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  /// Whoever has files here open keeps them.
  ~SmallDisk() {
    if (exists_) ::umount2(folder_.c_str(), MNT_DETACH);
  }

  bool exists() const { return exists_; }
  const std::filesystem::path& folder() const { return folder_; }

  void fill() const {
    const int file = ::open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    off_t end = 0;
    for (off_t size = 1 << 20; size > 0;) {
      if (::posix_fallocate(file, end, size) == 0)
        end += size;
      else
        size /= 2;
    }
    ::close(file);
  }
  void free() const { ::unlink(filler().c_str()); }

 private:
  std::string filler() const { return (folder_ / "filler").string(); }

  const std::filesystem::path folder_;
  bool exists_ = false;
};

}  // namespace vcap::test
