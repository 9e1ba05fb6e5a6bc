// SPDX-License-Identifier: Apache-2.0
#include "runtime/output_file.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
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

/// "folder/.name.5f3a9c1e.part.mp4": hidden, telling, and with the extension that tells video
/// writers the form.
fs::path temporary_name(const fs::path& path) {
  char random[9];
  std::snprintf(random, sizeof random, "%08x", std::random_device{}());
  std::string name = ".";
  name += path.stem().string();
  name += '.';
  name += random;
  name += ".part";
  name += path.extension().string();
  return path.parent_path() / name;
}

}  // namespace

OutputFile::OutputFile(fs::path path) : path_(std::move(path)), written_at_(path_) {
  if (path_ == "-") {
    descriptor_ = ::dup(STDOUT_FILENO);
    if (descriptor_ < 0) fail_open("-", "cannot be opened: " + error_text(errno));
    return;
  }
  std::error_code unknown;
  const fs::file_status status = fs::status(path_, unknown);
  if (path_.filename().empty() || fs::is_directory(status))
    fail_open(path_, "is a folder; give the name of a file");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, unknown))
      fail_open(path_,
                "cannot be created: there is no folder " + folder.string() + "; create it first");
    temporary_ = true;
    do {
      written_at_ = temporary_name(path_);
      descriptor_ = ::open(written_at_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
  }
  if (descriptor_ < 0)
    fail_open(path_, "cannot be written: " + error_text(errno) +
                         "; check the folder's permissions and space");
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (temporary_) ::unlink(written_at_.c_str());
}

void OutputFile::fail_write(int error) const {
  throw OutputError(
      ErrorCode::output_write,
      "output " + path_.string() + " cannot be written further: " + error_text(error) +
          "; make room or choose another place" + (undo_ ? "" : " (what was written is not kept)"));
}

void OutputFile::write(std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (count < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      if (undo_) take_back(written);
      fail_write(error);
    }
    written += static_cast<std::size_t>(count);
  }
  torn_ = false;
}

/// The bytes written last. Only the temporary file is surely its own and has an end to cut off.
void OutputFile::take_back(std::size_t written) noexcept {
  if (written == 0) return;
  const off_t end = temporary_ ? ::lseek(descriptor_, 0, SEEK_CUR) : -1;
  const off_t begin = end - static_cast<off_t>(written);
  torn_ = torn_ || end < 0 || ::ftruncate(descriptor_, begin) != 0 ||
          ::lseek(descriptor_, begin, SEEK_SET) != begin;
}

void OutputFile::check_space(std::size_t bytes) const {
  struct statvfs space {};
  if (::fstatvfs(descriptor_, &space) != 0) return;  // a file system that does not tell
  if (space.f_bavail * space.f_frsize < bytes) fail_write(ENOSPC);
}

void OutputFile::commit() {
  // Some file systems, such as NFS, tell only here that they could not keep what was written.
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) fail_write(errno);
  if (!temporary_) return;
  if (::rename(written_at_.c_str(), path_.c_str()) != 0) fail_write(errno);
  temporary_ = false;
}

}  // namespace vcap
