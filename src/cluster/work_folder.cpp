// SPDX-License-Identifier: Apache-2.0
#include "cluster/work_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";

[[noreturn]] void fail_at(const fs::path& path, const std::error_code& error) {
  throw OutputError(ErrorCode::output_open,
                    "the folder " + quote(path.native()) + " cannot be used: " + error.message());
}

void create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_at(folder, error);
}

/// The lock of a folder, until it is closed. Empty if another process has it, for LOCK_NB.
FileDescriptor locked(const fs::path& folder, int operation) {
  FileDescriptor lock(::open((folder / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock) fail_at(folder, {errno, std::generic_category()});
  int result = 0;
  do result = ::flock(lock.get(), operation);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EWOULDBLOCK) fail_at(folder, {errno, std::generic_category()});
  return result == 0 ? std::move(lock) : FileDescriptor();
}

/// Removes the folders below whose processes have died.
void remove_left(const fs::path& shared) {
  std::error_code ignored;
  for (fs::directory_iterator at(shared, ignored), end; at != end; at.increment(ignored)) {
    if (!at->is_directory(ignored)) continue;
    try {
      if (locked(at->path(), LOCK_EX | LOCK_NB)) fs::remove_all(at->path(), ignored);
    } catch (const OutputError& error) {  // such as that of another user
      log(LogLevel::warning, "worker: " + std::string(error.what()));
    }
  }
}

}  // namespace

WorkFolder::WorkFolder(const fs::path& shared) : path_(shared / Uuid::random().to_string()) {
  create(shared);
  // Nobody looks through the folder between the next lines.
  const FileDescriptor alone = locked(shared, LOCK_EX);
  create(path_);
  lock_ = locked(path_, LOCK_EX);
  remove_left(shared);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace vcap
