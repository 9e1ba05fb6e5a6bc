// SPDX-License-Identifier: Apache-2.0
#include "files/staged_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "files/entry_name.hpp"
#include "files/write_all.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(ErrorCode code, const fs::path& target, const std::string& fault) {
  throw OutputError(code, "cannot write " + quote(target.native()) + ": " + fault);
}

[[noreturn]] void fail(ErrorCode code, const fs::path& target, int error) {
  std::string remedy;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) remedy = "; make room for it";
  if (error == EACCES || error == EPERM || error == EROFS)
    remedy = "; check the folder's permissions";
  fail(code, target, std::generic_category().message(error) + remedy);
}

/// `path` without a slash at its end, which would make its filename empty.
fs::path without_slash(fs::path path) {
  if (path.has_filename()) return path;
  return path.parent_path();
}

void check_parent(const fs::path& target) {
  if (target.filename().empty() || target.filename() == "." || target.filename() == "..")
    fail(ErrorCode::output_open, target,
         "the path does not end with a name; give the path of a new folder");
  const fs::path parent = target.parent_path();
  std::error_code ignored;
  if (!parent.empty() && !fs::is_directory(parent, ignored))
    fail(ErrorCode::output_open, target,
         "folder " + quote(parent.native()) + " does not exist; create it first");
}

/// Calls `create` with hidden names for the future `target` until one is new; it returns 0 or
/// errno.
template <class Create>
void create_under_new_name(const fs::path& target, Create create) {
  static std::atomic<unsigned> count = 0;
  // A name exists only if an earlier process with this id left it behind.
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string staged = "." + target.filename().native() + "." + std::to_string(::getpid()) + "-" +
                         std::to_string(count++) + ".part";
    const int error = create(staged);
    if (error == 0) return;
    if (error != EEXIST) fail(ErrorCode::output_open, target, error);
  }
  fail(ErrorCode::output_open, target, EEXIST);
}

/// Flags for opening a folder; a symbolic link in its place is refused.
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Removes what a name in a folder refers to; of a link, only the link itself. Gives up if
/// something cannot be removed, or is nested deeper than anything that vcap writes.
void remove_below(int folder, const char* name, int depth = 0) noexcept {
  constexpr int kDeepest = 64;
  if (::unlinkat(folder, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
  if (depth == kDeepest) return;
  FileDescriptor fd(::openat(folder, name, kFolder));
  DIR* const list = fd ? ::fdopendir(fd.get()) : nullptr;
  if (list != nullptr) {
    fd.release();  // now owned by `list`
    while (const dirent* const entry = ::readdir(list)) {
      const std::string_view found = entry->d_name;
      if (found != "." && found != "..") remove_below(::dirfd(list), entry->d_name, depth + 1);
    }
    ::closedir(list);
  }
  ::unlinkat(folder, name, AT_REMOVEDIR);
}

/// The target must be free, or an empty folder.
void check_target(const fs::path& target, int parent) {
  const std::string name = target.filename().native();
  struct stat status {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return;
    fail(ErrorCode::output_open, target, errno);
  }
  if (!S_ISDIR(status.st_mode))
    fail(ErrorCode::output_open, target, "it exists and is not a folder; give another path");
  std::error_code error;
  const bool is_empty = fs::is_empty(target, error);
  if (error) fail(ErrorCode::output_open, target, error.value());
  if (!is_empty) fail(ErrorCode::output_open, target, "the folder is not empty; give a new one");
}

}  // namespace

StagedFolder::StagedFolder(fs::path target, Sync sync)
    : target_(without_slash(std::move(target))), sync_(sync) {
  check_parent(target_);
  const fs::path parent = target_.parent_path();
  parent_ = FileDescriptor(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent_) fail(ErrorCode::output_open, target_, errno);
  check_target(target_, parent_.get());
  create_under_new_name(target_, [this](std::string& name) {
    if (::mkdirat(parent_.get(), name.c_str(), 0777) != 0) return errno;
    staged_ = std::move(name);
    return 0;
  });
  root_ = FileDescriptor(::openat(parent_.get(), staged_.c_str(), kFolder));
  if (root_) return;
  const int error = errno;
  ::unlinkat(parent_.get(), staged_.c_str(), AT_REMOVEDIR);
  fail(ErrorCode::output_open, target_, error);
}

StagedFolder::~StagedFolder() {
  if (!staged_.empty()) remove_below(parent_.get(), staged_.c_str());
}

FileDescriptor StagedFolder::folder_of(std::string_view name) const {
  FileDescriptor folder(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  for (std::size_t end = 0; folder && (end = name.find('/')) != name.npos;) {
    const std::string part(name.substr(0, end));
    name.remove_prefix(end + 1);
    // It exists if an earlier file or another process made it; openat() below refuses a link.
    if (::mkdirat(folder.get(), part.c_str(), 0777) != 0 && errno != EEXIST)
      return FileDescriptor();
    folder = FileDescriptor(::openat(folder.get(), part.c_str(), kFolder));
  }
  return folder;
}

bool StagedFolder::contains(std::string_view name) const {
  return ::faccessat(root_.get(), std::string(name).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void StagedFolder::write(std::string_view name, std::span<const std::byte> bytes) {
  write_blocks(name, [bytes](const Take& take) { take(bytes); });
}

void StagedFolder::write_blocks(std::string_view name,
                                const std::function<void(const Take&)>& give) {
  if (const std::string fault = entry_name_fault(name); !fault.empty())
    fail(ErrorCode::output_write, target_, "the name " + quote(name) + " " + fault);
  const fs::path shown = target_ / name;
  const std::string last(name.substr(name.rfind('/') + 1));
  const FileDescriptor folder = folder_of(name);
  FileDescriptor fd;
  if (folder)
    fd = FileDescriptor(::openat(folder.get(), last.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd) fail(ErrorCode::output_write, shown, errno);
  try {
    give([&](std::span<const std::byte> bytes) {
      if (!write_all(fd.get(), bytes)) fail(ErrorCode::output_write, shown, errno);
    });
    if (sync_ == Sync::each && ::fdatasync(fd.get()) != 0)
      fail(ErrorCode::output_write, shown, errno);
    if (fd.close() != 0) fail(ErrorCode::output_write, shown, errno);
  } catch (...) {
    ::unlinkat(folder.get(), last.c_str(), 0);
    throw;
  }
}

void StagedFolder::commit() {
  if (sync_ == Sync::at_commit && ::syncfs(root_.get()) != 0)
    fail(ErrorCode::output_write, target_, errno);
  // Replaces an empty folder, and nothing else that appeared there meanwhile.
  const std::string name = target_.filename().native();
  if (::renameat(parent_.get(), staged_.c_str(), parent_.get(), name.c_str()) != 0)
    fail(ErrorCode::output_write, target_, errno);
  staged_.clear();
  ::fsync(parent_.get());  // some file systems cannot sync folders
}

}  // namespace vcap
