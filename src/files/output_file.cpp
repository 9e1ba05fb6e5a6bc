// SPDX-License-Identifier: Apache-2.0
#include "files/output_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

std::string error_text(int error) { return std::generic_category().message(error); }

std::string remedy_of(int error) {
  switch (error) {
    case EBADF:
      return "its descriptor was closed by other code in this process, such as a capsule";
    case EPIPE:
      return "the program that reads it has ended";
    default:
      return "free some space or choose another path";
  }
}

/// ".name.4711-3.part.mp4": keeps the extension, which gives video writers the format.
std::string hidden_name(const fs::path& path) {
  static std::atomic<unsigned> count = 0;
  std::string name = ".";
  name += path.stem().string() + "." + std::to_string(::getpid()) + "-" + std::to_string(count++);
  return name + ".part" + path.extension().string();
}

/// Renames within a folder. False, with errno EEXIST, if the new name is taken.
bool rename_to_free(int folder, const std::string& from, const std::string& to) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // A file system without RENAME_NOREPLACE. The lock on `from` keeps other vcap processes away.
  if (::faccessat(folder, to.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return false;
  }
  return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0;
}

}  // namespace

OutputFile::OutputFile(fs::path path, Target target, Unfinished unfinished)
    : path_(std::move(path)), written_at_(path_), unfinished_(unfinished) {
  if (target == Target::any && path_ == "-") {
    descriptor_ = FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!descriptor_) fail_open("cannot be opened: " + error_text(errno));
    return;
  }
  std::error_code unknown;
  const fs::file_status status = fs::status(path_, unknown);
  if (path_.filename().empty() || path_.filename() == "." || path_.filename() == ".." ||
      fs::is_directory(status))
    fail_open("is a folder; give the name of a file");
  if (!fs::exists(status) || fs::is_regular_file(status)) {
    open_folder();
    unfinished_ == Unfinished::kept ? create_part() : create_hidden();
    remember_file();
    return;
  }
  // A rename would replace a device, such as /dev/full, by a file.
  if (target == Target::regular_file)
    fail_open("exists and is not a regular file; give another path");
  descriptor_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (!descriptor_) fail_open("cannot be written: " + error_text(errno));
}

void OutputFile::open_folder() {
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  folder_ = FileDescriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written and not read can be held by O_PATH only, and then not be synced.
  if (!folder_ && errno == EACCES)
    folder_ = FileDescriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder_) return;
  if (errno == ENOENT || errno == ENOTDIR)
    fail_open("cannot be created: folder " + folder.string() + " does not exist; create it first");
  fail_open("cannot be written: folder " + folder.string() +
            " cannot be opened: " + error_text(errno) + "; check its permissions");
}

/// From here on, the file is removed if it is not needed.
void OutputFile::remember_file() {
  struct stat own {};
  if (::fstat(descriptor_.get(), &own) != 0) {
    const int error = errno;
    ::unlinkat(folder_.get(), written_name_.c_str(), 0);
    fail_open("cannot be written: " + error_text(error));
  }
  device_ = own.st_dev;
  inode_ = own.st_ino;
  temporary_ = true;
}

void OutputFile::create_hidden() {
  // A name exists only if an earlier process with this id left it behind.
  do {
    written_name_ = hidden_name(path_);
    written_at_ = path_.parent_path() / written_name_;
    descriptor_ = FileDescriptor(::openat(folder_.get(), written_name_.c_str(),
                                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (!descriptor_ && errno == EEXIST);
  if (!descriptor_)
    fail_open("cannot be written: " + error_text(errno) +
              "; check the folder's permissions and space");
}

void OutputFile::create_part() {
  // Another process may rename or remove the file between its opening and its lock.
  constexpr int kMostTries = 100;
  written_name_ = path_.filename().string() + ".part";
  written_at_ = path_.parent_path() / written_name_;
  for (int i = 0; i < kMostTries; ++i) {
    FileDescriptor file(::openat(folder_.get(), written_name_.c_str(),
                                 O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!file)
      fail_open("cannot be written: " + written_at_.string() + ": " + error_text(errno) +
                "; check the folder's permissions and space, and who owns a file of that name");
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
      fail_open("cannot be written, because " + written_at_.string() +
                " is not a regular file; remove it, or give another path");
    if (!lock(file))
      fail_open("is being written by another run, which has locked " + written_at_.string() +
                "; wait until it has ended, or give another path");
    if (!is_at(file.get(), written_name_)) continue;
    if (::fstat(file.get(), &status) == 0 && status.st_size == 0) {
      descriptor_ = std::move(file);
      return;
    }
    set_aside();
  }
  fail_open("cannot be written: other processes keep replacing " + written_at_.string());
}

/// False if another process, or another file of this process, has the lock. A file system without
/// locks counts as locked by this process: there, two runs are not noticed.
bool OutputFile::lock(const FileDescriptor& file) const {
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno != EWOULDBLOCK;
  }
  return true;
}

/// Renames what an earlier process has left, so that nothing of it is lost.
void OutputFile::set_aside() {
  std::size_t number = 1;
  std::string aside = written_name_ + ".1";
  while (!rename_to_free(folder_.get(), written_name_, aside)) {
    if (errno == ENOENT) return;  // another process has moved it
    if (errno != EEXIST)
      fail_open("cannot be written: an earlier run has left " + written_at_.string() +
                ", which cannot be renamed: " + error_text(errno) + "; move it away");
    aside = written_name_ + "." + std::to_string(++number);
  }
  log(LogLevel::warning,
      "output " + path_.string() +
          ": an earlier run did not finish it. What that run wrote is kept as " +
          (path_.parent_path() / aside).string() +
          (number > 1 ? ", beside " + std::to_string(number - 1) + " older ones" : "") +
          "; move or remove it when it is not needed any more");
}

/// Whether the name still belongs to that open file.
bool OutputFile::is_at(int file, const std::string& name) const noexcept {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file, &opened) == 0 &&
         ::fstatat(folder_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Whether descriptor and name still are those of the constructor. Other code in this process may
/// have closed the descriptor, and its number may belong to another file.
bool OutputFile::is_own() const noexcept {
  struct stat opened {};
  return ::fstat(descriptor_.get(), &opened) == 0 && opened.st_dev == device_ &&
         opened.st_ino == inode_ && is_at(descriptor_.get(), written_name_);
}

OutputFile::~OutputFile() {
  if (temporary_ && (unfinished_ == Unfinished::removed || end_ == 0)) discard();
}

void OutputFile::discard() noexcept {
  if (!std::exchange(temporary_, false)) return;
  if (is_own()) ::unlinkat(folder_.get(), written_name_.c_str(), 0);
}

std::string OutputFile::remains() const {
  if (!temporary_ || unfinished_ == Unfinished::removed || end_ == 0) return {};
  return "what was written is kept in " + written_at_.string();
}

void OutputFile::fail_open(const std::string& why) const {
  throw OutputError(ErrorCode::output_open, "output " + path_.string() + " " + why);
}

void OutputFile::fail_write(int error) const {
  std::string text = "output " + path_.string() +
                     " cannot be written further: " + error_text(error) + "; " + remedy_of(error);
  if (temporary_ && unfinished_ == Unfinished::removed) text += " (the unfinished file is removed)";
  if (const std::string left = remains(); !left.empty()) text += " (" + left + ")";
  throw OutputError(ErrorCode::output_write, text);
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
      take_back(written);
      fail_write(error);
    }
    written += static_cast<std::size_t>(count);
  }
  place_ += static_cast<std::int64_t>(written);
  end_ = std::max(end_, place_);
  torn_ = false;
}

/// Cuts off the bytes written last, unless they replaced others. Only for a temporary file, which
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
  if (temporary_) {
    if (::fdatasync(descriptor_.get()) != 0) fail_write(errno);
    if (!is_own())
      throw OutputError(ErrorCode::output_write,
                        "output " + path_.string() +
                            " cannot be completed: " + written_at_.string() +
                            " was renamed, removed or replaced while it was written; run again, "
                            "and leave that file alone meanwhile");
    // Before the descriptor is closed, and with it the lock.
    if (::renameat(folder_.get(), written_name_.c_str(), folder_.get(), path_.filename().c_str()) !=
        0)
      fail_write(errno);
    temporary_ = false;
    ::fsync(folder_.get());  // some file systems cannot sync folders
    descriptor_.close();     // all is stored
    return;
  }
  // Some file systems report only here that data could not be stored.
  if (descriptor_ && descriptor_.close() != 0 && errno != EINTR) fail_write(errno);
}

}  // namespace vcap
