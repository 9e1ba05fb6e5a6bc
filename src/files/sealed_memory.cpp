// SPDX-License-Identifier: Apache-2.0
#include "files/sealed_memory.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "files/write_all.hpp"

namespace vcap {
namespace {

[[noreturn]] void fail_sealing(int error) {
  throw std::system_error(error, std::generic_category());
}

}  // namespace

SealedMemory::SealedMemory(const char* name)
    : fd_(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!fd_) fail_sealing(errno);
}

void SealedMemory::append(std::span<const std::byte> bytes) {
  // By write(), which allocates or fails. A page of a mapping that is not available causes SIGBUS.
  if (!write_all(fd_.get(), bytes)) fail_sealing(errno);
  size_ += bytes.size();
}

OpenFile SealedMemory::seal_file() {
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::fcntl(fd_.get(), F_ADD_SEALS, kSeals) != 0) fail_sealing(errno);
  return {.fd = std::move(fd_), .size = size_};
}

std::shared_ptr<const MappedFile> SealedMemory::seal() { return MappedFile::map(seal_file()); }

}  // namespace vcap
