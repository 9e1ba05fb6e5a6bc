// SPDX-License-Identifier: Apache-2.0
#include "sources/live_clock.hpp"

#include <random>

#include "base/thread_annotations.hpp"

namespace vcap {
namespace {

class MachineClock final : public LiveClock {
 public:
  std::chrono::steady_clock::time_point now() override { return std::chrono::steady_clock::now(); }
  void wait(std::chrono::nanoseconds time, const std::stop_token& stop) override {
    Mutex mutex;
    StoppableCondVar never;
    const MutexLock lock(mutex);
    never.wait_for(mutex, stop, time, [] { return false; });
  }
  double chance() override { return std::uniform_real_distribution<double>(0, 1)(random_); }

 private:
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace

LiveClock::~LiveClock() = default;

std::unique_ptr<LiveClock> make_live_clock() { return std::make_unique<MachineClock>(); }

}  // namespace vcap
