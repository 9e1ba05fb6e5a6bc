// SPDX-License-Identifier: Apache-2.0
#include "support/ping_pong.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "support/figures.hpp"
#include "support/quantile.hpp"

double vcap::bench::ping_pong(int trips) {
  std::mutex mutex;
  std::condition_variable there, back;
  int turn = 0;  // 1: partner, 0: this thread, -1: end
  std::jthread partner([&] {
    std::unique_lock lock(mutex);
    for (;;) {
      there.wait(lock, [&] { return turn != 0; });
      if (turn < 0) return;
      turn = 0;
      back.notify_one();
    }
  });
  std::vector<double> took;
  for (int i = 0; i < trips; ++i)
    took.push_back(seconds([&] {
      std::unique_lock lock(mutex);
      turn = 1;
      there.notify_one();
      back.wait(lock, [&] { return turn == 0; });
    }));
  {
    const std::lock_guard lock(mutex);
    turn = -1;
  }
  there.notify_one();
  return quantile(std::move(took), 0.5);
}
