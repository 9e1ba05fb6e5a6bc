// SPDX-License-Identifier: Apache-2.0
#include "files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace vcap {
namespace {

[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

std::size_t size_of_regular_file(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail(errno);
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  if (!S_ISREG(status.st_mode)) fail(ENOTSUP);
  return static_cast<std::size_t>(status.st_size);
}

void* map_memory(std::size_t size, int protection, int flags, int fd) {
  void* const data = ::mmap(nullptr, size, protection, flags, fd, 0);
  if (data == MAP_FAILED) fail(errno);
  return data;
}

}  // namespace

OpenFile open_regular_file(const std::filesystem::path& path) {
  // O_NONBLOCK: open() must not wait for a pipe's writer. A pipe is refused below.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) fail(errno);
  const std::size_t size = size_of_regular_file(fd.get());
  return {.fd = std::move(fd), .size = size};
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  return map(open_regular_file(path));
}

std::shared_ptr<const MappedFile> MappedFile::of(int fd) {
  return map(fd, size_of_regular_file(fd));
}

std::shared_ptr<const MappedFile> MappedFile::map(const OpenFile& file) {
  return map(file.fd.get(), file.size);
}

std::shared_ptr<const MappedFile> MappedFile::map(int fd, std::size_t size) {
  // The mapping refers to the file by itself; the descriptor is no longer needed.
  const void* const data = size == 0 ? nullptr : map_memory(size, PROT_READ, MAP_PRIVATE, fd);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), size, false));
}

std::shared_ptr<const MappedFile> MappedFile::copy(Bytes bytes) {
  void* data = nullptr;
  if (!bytes.empty()) {
    // Not the heap: entries that are aligned in the file must be aligned here too.
    data = map_memory(bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    std::memcpy(data, bytes.data(), bytes.size());
    ::mprotect(data, bytes.size(), PROT_READ);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), bytes.size(), true));
}

void MappedFile::release_pages() const noexcept {
  if (data_ == nullptr || is_copy_) return;  // a copy has its bytes nowhere else
  ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace vcap
