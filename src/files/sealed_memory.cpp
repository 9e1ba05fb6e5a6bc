// SPDX-License-Identifier: Apache-2.0
#include "files/sealed_memory.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace vcap {
namespace {

[[noreturn]] void fail_sealing(int error) {
  throw std::system_error(error, std::generic_category());
}

}  // namespace

SealedMemory::SealedMemory(std::size_t size)
    : fd_(::memfd_create("vcap-capsule", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size_(size) {
  if (!fd_) fail_sealing(errno);
  if (size == 0) return;
  // Allocate now: a page that is not available later would cause SIGBUS.
  if (const int error = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(size)); error != 0)
    fail_sealing(error);
  void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (data == MAP_FAILED) fail_sealing(errno);
  data_ = static_cast<std::byte*>(data);
}

SealedMemory::~SealedMemory() { unmap(); }

void SealedMemory::unmap() noexcept {
  if (data_ != nullptr) ::munmap(std::exchange(data_, nullptr), size_);
}

std::shared_ptr<const MappedFile> SealedMemory::seal() {
  unmap();  // the kernel does not seal a file that is mapped writable
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::fcntl(fd_.get(), F_ADD_SEALS, kSeals) != 0) fail_sealing(errno);
  return MappedFile::map({.fd = std::move(fd_), .size = size_});
}

}  // namespace vcap
