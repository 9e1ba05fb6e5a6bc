// SPDX-License-Identifier: Apache-2.0
#include "loading/staged_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "loading/write_all.hpp"
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
  if (error == EACCES || error == EPERM || error == EROFS) remedy = "; check the folder's rights";
  fail(code, target, std::generic_category().message(error) + remedy);
}

/// `path` without a slash at its end, which would leave it without a name.
fs::path without_slash(fs::path path) { return path.has_filename() ? path : path.parent_path(); }

void check_parent(const fs::path& target) {
  if (target.filename().empty() || target.filename() == "." || target.filename() == "..")
    fail(ErrorCode::output_open, target, "it is no name; give the path of something new");
  const fs::path parent = target.parent_path();
  std::error_code ignored;
  if (!parent.empty() && !fs::is_directory(parent, ignored))
    fail(ErrorCode::output_open, target,
         "folder " + quote(parent.native()) + " does not exist; create it first");
}

/// Calls `create` with hidden names beside `target` until one is new; it gives 0 or errno.
template <class Create>
fs::path create_beside(const fs::path& target, Create create) {
  static std::atomic<unsigned> count = 0;
  // A name is taken only where an earlier process of this number left it behind.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const fs::path staged = target.parent_path() /
                            ("." + target.filename().native() + "." + std::to_string(::getpid()) +
                             "-" + std::to_string(count++) + ".part");
    const int error = create(staged);
    if (error == 0) return staged;
    if (error != EEXIST) fail(ErrorCode::output_open, target, error);
  }
  fail(ErrorCode::output_open, target, EEXIST);
}

}  // namespace

StagedFile::StagedFile(fs::path target) : target_(std::move(target)) {
  check_parent(target_);
  // A rename would put a file in the place of a folder or a device, such as /dev/full.
  std::error_code ignored;
  const fs::file_status status = fs::status(target_, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status))
    fail(ErrorCode::output_open, target_, "it is there and no file; give another path");
  staged_ = create_beside(target_, [this](const fs::path& path) {
    fd_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    return fd_ ? 0 : errno;
  });
}

StagedFile::~StagedFile() {
  std::error_code ignored;
  if (!staged_.empty()) fs::remove(staged_, ignored);
}

void StagedFile::write(std::span<const std::byte> bytes) {
  if (!write_all(fd_.get(), bytes)) fail(ErrorCode::output_write, target_, errno);
}

void StagedFile::commit() {
  // Some file systems tell only here that there was no room.
  if (fd_.close() != 0) fail(ErrorCode::output_write, target_, errno);
  std::error_code error;
  fs::rename(staged_, target_, error);
  if (error) fail(ErrorCode::output_write, target_, error.value());
  staged_.clear();
}

StagedFolder::StagedFolder(fs::path target) : target_(without_slash(std::move(target))) {
  check_parent(target_);
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target_, error);
  if (fs::exists(status) && !fs::is_directory(status))
    fail(ErrorCode::output_open, target_, "it is there and no folder; give another path");
  if (fs::exists(status) && !fs::is_empty(target_, error))
    fail(ErrorCode::output_open, target_, "the folder is not empty; give a new one");
  staged_ = create_beside(
      target_, [](const fs::path& path) { return ::mkdir(path.c_str(), 0777) == 0 ? 0 : errno; });
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!staged_.empty()) fs::remove_all(staged_, ignored);
}

void StagedFolder::write(std::string_view name, std::span<const std::byte> bytes) {
  const fs::path path = staged_ / name;
  const fs::path shown = target_ / name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) fail(ErrorCode::output_write, shown, error.value());
  FileDescriptor fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd || !write_all(fd.get(), bytes) || fd.close() != 0)
    fail(ErrorCode::output_write, shown, errno);
}

void StagedFolder::commit() {
  // rename(2) takes the place of an empty folder, and refuses one that was filled meanwhile.
  std::error_code error;
  fs::rename(staged_, target_, error);
  if (error) fail(ErrorCode::output_write, target_, error.value());
  staged_.clear();
}

}  // namespace vcap
