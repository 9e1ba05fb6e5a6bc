// SPDX-License-Identifier: Apache-2.0
#include "records/spool.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <vector>

#include "files/write_all.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// A file system without unnamed files gets a named one, whose name is removed at once.
FileDescriptor open_unnamed(const std::string& folder) {
  FileDescriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;
  std::string name = folder + "/.vcap-spool-XXXXXX";
  file = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (file) ::unlink(name.c_str());
  return file;
}

}  // namespace

Spool::Spool(const std::filesystem::path& folder)
    : folder_(folder.empty() ? "." : folder.string()), file_(open_unnamed(folder_)) {
  if (!file_)
    throw OutputError(ErrorCode::output_open, "folder " + folder_ + " cannot be written: " +
                                                  std::generic_category().message(errno) +
                                                  "; create it, or check its permissions");
}

void Spool::write(std::string_view text) {
  if (!write_all(file_.get(), std::as_bytes(std::span(text.data(), text.size())))) {
    const int error = errno;
    cut(size_);
    throw OutputError(ErrorCode::output_write,
                      "a temporary file in folder " + folder_ +
                          " cannot be written further: " + std::generic_category().message(error) +
                          "; free some space or choose another path");
  }
  size_ += static_cast<std::int64_t>(text.size());
}

void Spool::cut(std::int64_t size) noexcept {
  static_cast<void>(::ftruncate(file_.get(), size) + ::lseek(file_.get(), size, SEEK_SET));
  size_ = size;
}

void Spool::read(const std::function<void(std::span<const std::byte>)>& take) const {
  std::vector<std::byte> block(std::size_t{1} << 16);
  for (std::int64_t place = 0; place < size_;) {
    const auto wanted =
        std::min<std::size_t>(block.size(), static_cast<std::size_t>(size_ - place));
    const ssize_t count = ::pread(file_.get(), block.data(), wanted, place);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw OutputError(
          ErrorCode::output_write,
          "a temporary file in folder " + folder_ + " cannot be read back: " +
              (count < 0 ? std::generic_category().message(errno) : std::string("it was cut")));
    take(std::span(block).first(static_cast<std::size_t>(count)));
    place += count;
  }
}

}  // namespace vcap
