// SPDX-License-Identifier: Apache-2.0
#include "loading/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "loading/file_descriptor.hpp"

namespace vcap {
namespace {

[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

void* map(std::size_t size, int protection, int flags, int fd) {
  void* const data = ::mmap(nullptr, size, protection, flags, fd, 0);
  if (data == MAP_FAILED) fail(errno);
  return data;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK, so that a pipe without a writer is refused below rather than waited for.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) fail(errno);
  return of(fd.get());
}

std::shared_ptr<const MappedFile> MappedFile::of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail(errno);
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  if (!S_ISREG(status.st_mode)) fail(ENOTSUP);

  const auto size = static_cast<std::size_t>(status.st_size);
  // The mapping holds the file on its own; the descriptor is not needed any longer.
  const void* const data = size == 0 ? nullptr : map(size, PROT_READ, MAP_PRIVATE, fd);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), size));
}

std::shared_ptr<const MappedFile> MappedFile::copy(Bytes bytes) {
  void* data = nullptr;
  if (!bytes.empty()) {
    // Not the heap: entries aligned in the file are to be aligned here too.
    data = map(bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    std::memcpy(data, bytes.data(), bytes.size());
    ::mprotect(data, bytes.size(), PROT_READ);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), bytes.size()));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace vcap
