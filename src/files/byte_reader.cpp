// SPDX-License-Identifier: Apache-2.0
#include "files/byte_reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The present size of an open file; 0 if it is unknown.
std::uint64_t size_now(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

ByteReader::ByteReader(OpenFile file, std::string name)
    : name_(std::move(name)), file_(std::move(file)), size_(file_.size) {}

ByteReader::ByteReader(std::shared_ptr<const MappedFile> memory, std::string name)
    : name_(std::move(name)),
      mapped_(std::move(memory)),
      memory_(mapped_->bytes()),
      size_(memory_.size()) {}

ByteReader::ByteReader(Bytes bytes, std::string name)
    : name_(std::move(name)), memory_(bytes), size_(bytes.size()) {}

void ByteReader::fail_read(std::uint64_t offset, int error) const {
  throw InvalidCapsuleError(ErrorCode::not_an_archive,
                            name_ + " cannot be read at byte " + std::to_string(offset) + " of " +
                                std::to_string(size_) + ": " +
                                std::generic_category().message(error) +
                                "; check the disk or the network, and load it again");
}

void ByteReader::fail_changed(std::uint64_t offset) const {
  throw InvalidCapsuleError(
      ErrorCode::capsule_changed,
      name_ + " cannot be read at byte " + std::to_string(offset) + ": it had " +
          std::to_string(size_) + " bytes and now has " + std::to_string(size_now(file_.fd.get())) +
          ", because another process changed it while it was read; load it again, and replace it "
          "by renaming a new file over it");
}

void ByteReader::read(std::uint64_t offset, std::span<std::byte> into) const {
  bytes_read_ += into.size();
  if (!file_.fd) {
    std::ranges::copy(memory_.subspan(offset, into.size()), into.begin());
    return;
  }
  while (!into.empty()) {
    const ssize_t count =
        ::pread(file_.fd.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_read(offset, errno);
    if (count == 0) fail_changed(offset);
    offset += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
}

std::vector<std::byte> ByteReader::read(std::uint64_t offset, std::uint64_t count) const {
  std::vector<std::byte> bytes(count);
  read(offset, bytes);
  return bytes;
}

void ByteReader::for_each_block(std::uint64_t offset, std::uint64_t count,
                                const TakeBlock& take) const {
  std::vector<std::byte> block(file_.fd ? std::min<std::uint64_t>(count, kBlock) : 0);
  while (count > 0) {
    const std::uint64_t part = std::min<std::uint64_t>(count, kBlock);
    if (file_.fd) {
      const auto filled = std::span(block).first(part);
      read(offset, filled);
      take(filled);
    } else {
      bytes_read_ += part;
      take(memory_.subspan(offset, part));
    }
    offset += part;
    count -= part;
  }
}

std::shared_ptr<const MappedFile> ByteReader::mapped() const {
  if (mapped_ != nullptr) return mapped_;
  try {
    if (!file_.fd) return mapped_ = MappedFile::copy(memory_);
    if (const std::uint64_t now = size_now(file_.fd.get()); now != size_)
      fail_changed(std::min(now, size_));
    return mapped_ = MappedFile::map(file_);
  } catch (const std::system_error& error) {
    throw CapsuleLoadError(ErrorCode::limit_exceeded,
                           name_ + " cannot be held in memory: " + error.code().message());
  }
}

void ByteReader::keep() const {
  if (!file_.fd) memory_ = mapped()->bytes();
}

void ByteReader::release_pages() const noexcept {
  if (mapped_ != nullptr) mapped_->release_pages();
}

}  // namespace vcap
