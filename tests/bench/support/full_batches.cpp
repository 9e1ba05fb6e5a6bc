// SPDX-License-Identifier: Apache-2.0
#include "support/full_batches.hpp"

#include <algorithm>

#include "support/figures.hpp"

namespace vcap::bench {

using Clock = std::chrono::steady_clock;

void BusyDevice::predict(std::size_t n) const {
  const auto until = Clock::now() + std::chrono::microseconds(a + b * static_cast<int>(n));
  while (Clock::now() < until) {
  }
}

ItemWindow::ItemWindow(BusyDevice device, int streams)
    : begin_after_(workload(20, 1) * streams),
      end_after_(begin_after_ +
                 streams * workload(std::max(30, 300'000 / (device.a + device.b * streams)), 3)) {}

void ItemWindow::count(int items) {
  const int before = items_.fetch_add(items);
  const auto passes = [&](int border) { return before < border && before + items >= border; };
  if (passes(begin_after_)) begin_ = Clock::now();
  if (passes(end_after_)) end_ = Clock::now();
}

double ItemWindow::rate() const {
  return (end_after_ - begin_after_) / std::chrono::duration<double>(end_ - begin_).count();
}

double full_batches(BusyDevice device, int streams) {
  for (ItemWindow window(device, streams);;) {
    device.predict(static_cast<std::size_t>(streams));
    window.count(streams);
    if (window.over()) return window.rate();
  }
}

}  // namespace vcap::bench
