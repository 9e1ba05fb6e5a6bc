// SPDX-License-Identifier: Apache-2.0
#include "cluster/worker_place.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cluster/host_name.hpp"
#include "files/digest.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr int kMostPlaces = 10'000;

[[noreturn]] void fail(const fs::path& folder, const std::string& why) {
  throw OutputError(ErrorCode::output_open,
                    "the folder of a worker " + quote(folder.native()) + " cannot be used: " + why);
}

/// Creates the folder; empty if another process has it.
FileDescriptor try_lock(const fs::path& place) {
  std::error_code error;
  fs::create_directories(place, error);
  if (error) fail(place, error.message());
  FileDescriptor lock(::open((place / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock) fail(place, std::generic_category().message(errno));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) fail(place, std::generic_category().message(errno));
  return FileDescriptor();
}

}  // namespace

WorkerPlace::WorkerPlace(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, error.message());
  const std::string path = fs::canonical(folder).native();
  const std::string digest = sha256(std::as_bytes(std::span(path))).substr(0, 4);
  for (int number = 0; number < kMostPlaces; ++number) {
    const fs::path place = folder / ("worker-" + std::to_string(number));
    if (lock_ && !fs::exists(place, error)) return;
    FileDescriptor lock = try_lock(place);
    if (!lock) continue;
    fs::remove_all(place / "work", error);  // of a worker that has died
    if (lock_) continue;
    lock_ = std::move(lock);
    folder_ = place;
    name_ = host_name() + '-' + digest + '-' + std::to_string(number);
    fs::create_directories(work(), error);
    if (error) fail(work(), error.message());
  }
  if (!lock_) fail(folder, "too many workers use it");
}

}  // namespace vcap
