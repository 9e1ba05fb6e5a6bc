// SPDX-License-Identifier: Apache-2.0
#include "records/recording_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "files/write_all.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

GrowingFile::GrowingFile(std::filesystem::path path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (!descriptor_)
    throw OutputError(ErrorCode::output_open, path_.string() + " cannot be made: " +
                                                  std::generic_category().message(errno) +
                                                  "; check the folder");
}

void GrowingFile::fail() const {
  throw OutputError(ErrorCode::output_write, path_.string() + " cannot be written: " +
                                                 std::generic_category().message(errno) +
                                                 "; check the disk's space");
}

void GrowingFile::cut(std::int64_t size) noexcept {
  const int error = errno;
  size_ = size;
  // If this fails, the next part is still written at the right place.
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_.get(), size);
  ::lseek(descriptor_.get(), size, SEEK_SET);
  errno = error;
}

void GrowingFile::append(std::span<const std::byte> part) {
  if (!write_all(descriptor_.get(), part)) {
    cut(size_);
    fail();
  }
  size_ += static_cast<std::int64_t>(part.size());
}

void GrowingFile::append(std::string_view part) { append(std::as_bytes(std::span(part))); }

void GrowingFile::sync() {
  if (::fdatasync(descriptor_.get()) != 0) fail();
}

}  // namespace vcap
