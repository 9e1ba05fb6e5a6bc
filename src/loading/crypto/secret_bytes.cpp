// SPDX-License-Identifier: Apache-2.0
#include "loading/crypto/secret_bytes.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/text.hpp"
#include "files/file_descriptor.hpp"
#include "files/write_all.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// The largest passphrase file; key files are smaller.
constexpr std::size_t kLongestKeyFile = 4096;

[[noreturn]] void fail_reading(const std::filesystem::path& path, const std::string& what,
                               const std::string& fault) {
  throw InvalidArgument(ErrorCode::invalid_key, what + " " + quote(path.native()) + " " + fault);
}

[[noreturn]] void fail_writing(ErrorCode code, const std::filesystem::path& path, int error) {
  const std::string fault =
      error == EEXIST ? "the file exists, and keys are never overwritten; give another path"
                      : std::generic_category().message(error) + "; check the folder's permissions";
  throw OutputError(code, "cannot write key file " + quote(path.native()) + ": " + fault);
}

}  // namespace

void init_sodium() {
  static const bool is_ready = ::sodium_init() >= 0;
  if (!is_ready) throw std::runtime_error("libsodium finds no source of randomness");
}

void SecretBytes::Free::operator()(std::byte* data) const noexcept { ::sodium_free(data); }

SecretBytes::SecretBytes(std::size_t size) : size_(size) {
  init_sodium();
  data_.reset(static_cast<std::byte*>(::sodium_malloc(size)));
  if (data_ == nullptr) throw std::bad_alloc();
  ::sodium_memzero(data_.get(), size);
}

SecretBytes read_key_file(const std::filesystem::path& path, const std::string& what,
                          KeyFile kind) {
  // O_NONBLOCK: open() must not wait for a pipe's writer. A pipe is refused below.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    fail_reading(path, what,
                 "cannot be read: " + std::generic_category().message(errno) + "; check the path");
  if (!S_ISREG(status.st_mode)) fail_reading(path, what, "is not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > kLongestKeyFile)
    fail_reading(path, what,
                 "has " + std::to_string(size) + " bytes; a key file has at most " +
                     std::to_string(kLongestKeyFile));
  if (kind == KeyFile::secret && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    log(LogLevel::warning,
        what + " " + quote(path.native()) + " can be read by others; restrict it with chmod 600");

  SecretBytes content(size);
  std::span<std::byte> rest = content.bytes();
  while (!rest.empty()) {
    const ssize_t count = ::read(fd.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_reading(path, what, "was changed while it was read; try again");
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  return content;
}

void write_key_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                    KeyFile kind) {
  const mode_t mode = kind == KeyFile::secret ? 0600 : 0644;
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) fail_writing(ErrorCode::output_open, path, errno);
  if (!write_all(fd.get(), bytes) || ::fsync(fd.get()) != 0 || fd.close() != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    fail_writing(ErrorCode::output_write, path, error);
  }
}

}  // namespace vcap
