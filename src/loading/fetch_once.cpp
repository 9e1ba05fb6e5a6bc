// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/fetch_once.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"
#include "files/file_descriptor.hpp"
#include "loading/resources/resource_failure.hpp"
#include "loading/resources/resource_scope.hpp"
#include "loading/resources/resource_settings.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

void check_name(const std::string& name) {
  constexpr std::size_t kLongest = 200;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (!name.empty() && name.size() <= kLongest && name.front() != '.' &&
      std::ranges::all_of(name, is_allowed))
    return;
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      "fetch_once: name " + quote(name) +
          " is not 1 to 200 letters, digits, '_', '-' and '.', or begins with '.'; "
          "give another name");
}

[[noreturn]] void fail(const std::string& name, const std::string& what,
                       ErrorCode code = ErrorCode::resource_cache) {
  throw ResourceError(code, "fetch_once of " + quote(name) + ": " + what, name);
}

/// Throws for the result -1 of a system call on the path.
void check_call(int result, const std::string& name, const char* action, const fs::path& path) {
  if (result >= 0) return;
  fail(name, "cannot " + std::string(action) + " " + path.native() + ": " +
                 std::generic_category().message(errno) +
                 "; check the permissions and the room of the cache, or name another one "
                 "(VCAP_CACHE)");
}

/// Locks it for this call, and waits for others. The lock ends with the descriptor, however the
/// process ends.
FileDescriptor lock_file(const fs::path& path, const std::string& name) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  check_call(fd.get(), name, "open", path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  log(LogLevel::info, "another process or thread fetches " + name + "; waiting for it");
  int result = 0;
  do {
    result = ::flock(fd.get(), LOCK_EX);
  } while (result != 0 && errno == EINTR);
  check_call(result, name, "lock", path);
  return fd;
}

/// Fills the folder and gives it its name.
void fetch_into(const fs::path& folder, const fs::path& part, const std::string& name,
                const std::function<void(const std::string&)>& fetch) {
  std::error_code error;
  fs::remove_all(part, error);  // of a process that was killed
  if (!error) fs::create_directory(part, error);
  if (error) fail(name, "cannot create " + part.native() + ": " + error.message());
  try {
    fetch(part.native());
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(part, ignored);
    throw;
  }
  const FileDescriptor inside(::open(part.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  check_call(inside.get(), name, "open", part);
  check_call(::syncfs(inside.get()), name, "write", part);
  check_call(::rename(part.c_str(), folder.c_str()), name, "name", folder);
  const FileDescriptor parent(
      ::open(folder.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent) ::fsync(parent.get());
}

ResourceOptions options_for(const std::string& name) {
  try {
    return with_environment(ResourceScope::current(),
                            [](const char* variable) { return std::getenv(variable); });
  } catch (const ResourceFailure& failure) {
    fail(name, failure.what(), failure.code());
  }
}

}  // namespace

std::string fetch_once(const std::string& name,
                       const std::function<void(const std::string& folder)>& fetch) {
  check_name(name);
  const ResourceOptions options = options_for(name);
  const fs::path parent = fs::path(options.cache) / "fetched";
  const fs::path folder = parent / name;
  std::error_code error;
  if (fs::is_directory(folder, error)) return folder.native();
  if (options.offline)
    fail(name,
         "vcap is offline, and " + folder.native() +
             " does not exist; put the folder there, or load the capsule once with a network",
         ErrorCode::resource_offline);
  fs::create_directories(parent, error);
  if (error) fail(name, "cannot create " + parent.native() + ": " + error.message());
  const FileDescriptor lock = lock_file(parent / ("." + name + ".lock"), name);
  if (!fs::is_directory(folder, error))
    fetch_into(folder, parent / ("." + name + ".part"), name, fetch);
  return folder.native();
}

}  // namespace vcap
