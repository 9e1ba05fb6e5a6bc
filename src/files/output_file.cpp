// SPDX-License-Identifier: Apache-2.0
#include "files/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

std::string error_text(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail_open(const fs::path& path, const std::string& why) {
  throw OutputError(ErrorCode::output_open, "output " + path.string() + " " + why);
}

/// "folder/.name.4711-3.part.mp4": keeps the extension, which gives video writers the format.
fs::path hidden_name(const fs::path& path) {
  static std::atomic<unsigned> count = 0;
  std::string name = ".";
  name += path.stem().string() + "." + std::to_string(::getpid()) + "-" + std::to_string(count++);
  return path.parent_path() / (name + ".part" + path.extension().string());
}

}  // namespace

OutputFile::OutputFile(fs::path path, Target target) : path_(std::move(path)), written_at_(path_) {
  if (target == Target::any && path_ == "-") {
    descriptor_ = FileDescriptor(::dup(STDOUT_FILENO));
    if (!descriptor_) fail_open("-", "cannot be opened: " + error_text(errno));
    return;
  }
  std::error_code unknown;
  const fs::file_status status = fs::status(path_, unknown);
  if (path_.filename().empty() || path_.filename() == "." || path_.filename() == ".." ||
      fs::is_directory(status))
    fail_open(path_, "is a folder; give the name of a file");
  if (!fs::exists(status) || fs::is_regular_file(status)) {
    create_hidden();
    return;
  }
  // A rename would replace a device, such as /dev/full, by a file.
  if (target == Target::regular_file)
    fail_open(path_, "exists and is not a regular file; give another path");
  descriptor_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (!descriptor_) fail_open(path_, "cannot be written: " + error_text(errno));
}

void OutputFile::create_hidden() {
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown))
    fail_open(path_,
              "cannot be created: folder " + folder.string() + " does not exist; create it first");
  // A name exists only if an earlier process with this id left it behind.
  do {
    written_at_ = hidden_name(path_);
    descriptor_ =
        FileDescriptor(::open(written_at_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (!descriptor_ && errno == EEXIST);
  if (!descriptor_)
    fail_open(path_, "cannot be written: " + error_text(errno) +
                         "; check the folder's permissions and space");
  temporary_ = true;
}

OutputFile::~OutputFile() {
  if (temporary_) ::unlink(written_at_.c_str());
}

void OutputFile::fail_write(int error) const {
  throw OutputError(ErrorCode::output_write,
                    "output " + path_.string() + " cannot be written further: " +
                        error_text(error) + "; free some space or choose another path" +
                        (undo_ || !temporary_ ? "" : " (the unfinished file is removed)"));
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void OutputFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // the kernel writes less than 2 GiB at once
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count =
        ::write(descriptor_.get(), bytes.data() + written, std::min(bytes.size() - written, kMost));
    if (count < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      if (undo_) take_back(written);
      fail_write(error);
    }
    written += static_cast<std::size_t>(count);
  }
  place_ += static_cast<std::int64_t>(written);
  end_ = std::max(end_, place_);
  torn_ = false;
}

/// Cuts off the bytes written last, unless they replaced others. Only for the hidden file, which
/// belongs to this object and has an end.
void OutputFile::take_back(std::size_t written) noexcept {
  if (written == 0) return;
  const int fd = descriptor_.get();
  torn_ = torn_ || !temporary_ || place_ < end_ || ::ftruncate(fd, place_) != 0 ||
          ::lseek(fd, place_, SEEK_SET) != place_;
}

void OutputFile::seek(std::int64_t place) {
  if (::lseek(descriptor_.get(), place, SEEK_SET) != place) fail_write(errno);
  place_ = place;
}

void OutputFile::commit() {
  if (temporary_ && ::fdatasync(descriptor_.get()) != 0) fail_write(errno);
  // Some file systems, such as NFS, report only here that data could not be stored.
  if (descriptor_ && descriptor_.close() != 0 && errno != EINTR) fail_write(errno);
  if (!temporary_) return;
  if (::rename(written_at_.c_str(), path_.c_str()) != 0) fail_write(errno);
  temporary_ = false;
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  const FileDescriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent) ::fsync(parent.get());  // some file systems cannot sync folders
}

}  // namespace vcap
