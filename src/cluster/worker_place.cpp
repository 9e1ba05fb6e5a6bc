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

}  // namespace

WorkerPlace::WorkerPlace(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, error.message());
  const std::string path = fs::canonical(folder).native();
  const std::string digest = sha256(std::as_bytes(std::span(path))).substr(0, 4);
  for (int number = 0; number < kMostPlaces; ++number) {
    folder_ = folder / ("worker-" + std::to_string(number));
    fs::create_directories(folder_, error);
    if (error) fail(folder_, error.message());
    lock_ = FileDescriptor(::open((folder_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock_) fail(folder_, std::generic_category().message(errno));
    name_ = host_name() + '-' + digest + '-' + std::to_string(number);
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK) fail(folder_, std::generic_category().message(errno));
  }
  fail(folder, "too many workers use it");
}

}  // namespace vcap
