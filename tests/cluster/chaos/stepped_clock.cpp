// SPDX-License-Identifier: Apache-2.0
//
// Steps the time of day of a process (LD_PRELOAD), as an administrator or a time server does: by
// so many nanoseconds as the file VCAP_TEST_CLOCK has (an int64), which a test changes while the
// process runs. The steady clock goes on. A wait for a time of day ends when the stepped clock has
// that time, as the system does it.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
/// How late a wait notices a step.
constexpr std::int64_t kStep = 10'000'000;

const std::atomic<std::int64_t>* map_offset() {
  const char* const path = std::getenv("VCAP_TEST_CLOCK");
  const int file = path ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return nullptr;
  void* const memory = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::int64_t>*>(memory);
}

std::int64_t offset() {
  static const std::atomic<std::int64_t>* const mapped = map_offset();
  return mapped ? mapped->load(std::memory_order_relaxed) : 0;
}

std::int64_t nanoseconds_of(const timespec& at) { return at.tv_sec * kSecond + at.tv_nsec; }
timespec timespec_of(std::int64_t nanoseconds) {
  return {.tv_sec = nanoseconds / kSecond, .tv_nsec = nanoseconds % kSecond};
}

std::int64_t unstepped_now() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  return nanoseconds_of(now);
}

}  // namespace

EXPORT int clock_gettime(clockid_t clock, timespec* result) noexcept {
  const long failed = ::syscall(SYS_clock_gettime, clock, result);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    *result = timespec_of(nanoseconds_of(*result) + offset());
  return static_cast<int>(failed);
}

EXPORT int gettimeofday(timeval* result, void*) noexcept {
  const std::int64_t now = unstepped_now() + offset();
  *result = {.tv_sec = now / kSecond, .tv_usec = now % kSecond / 1'000};
  return 0;
}

EXPORT time_t time(time_t* result) noexcept {
  const time_t now = (unstepped_now() + offset()) / kSecond;
  if (result) *result = now;
  return now;
}

/// In short waits, because the step may come in between.
EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  const timespec* end) {
  for (;;) {
    const std::int64_t now = unstepped_now();
    const std::int64_t left = nanoseconds_of(*end) - (now + offset());
    if (left <= 0) return ETIMEDOUT;
    const timespec until = timespec_of(now + std::min(left, kStep));
    const int result = ::pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &until);
    if (result != ETIMEDOUT) return result;
  }
}
