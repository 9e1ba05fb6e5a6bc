// SPDX-License-Identifier: Apache-2.0
#include "base/call_meter.hpp"

#include <algorithm>

namespace vcap {
namespace {

std::uint64_t second_of(RateMeter::time_point time) noexcept {
  using std::chrono::duration_cast, std::chrono::seconds;
  return static_cast<std::uint64_t>(duration_cast<seconds>(time.time_since_epoch()).count()) &
         0xffffffffu;
}

constexpr std::uint64_t kWindowSeconds = 10;

}  // namespace

void RateMeter::add(time_point now) noexcept {
  const std::uint64_t second = second_of(now);
  std::atomic<std::uint64_t>& cell = cells_[second % kSeconds];
  std::uint64_t old = cell.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next = old >> 32 == second ? old + 1 : (second << 32 | 1);
  } while (!cell.compare_exchange_weak(old, next, std::memory_order_relaxed));
}

double RateMeter::per_second(time_point now, time_point begin) const noexcept {
  const auto events_in = [this](std::uint64_t second) -> std::uint64_t {
    const std::uint64_t cell = cells_[second % kSeconds].load(std::memory_order_relaxed);
    return cell >> 32 == second ? cell & 0xffffffffu : 0;
  };
  // The current second is not over, so its count would be too low.
  const std::uint64_t end = second_of(now);
  const std::uint64_t first = std::max(end - std::min(end, kWindowSeconds), second_of(begin));
  if (first >= end) {
    const double elapsed = std::chrono::duration<double>(now - begin).count();
    return elapsed > 0 ? static_cast<double>(events_in(end)) / elapsed : 0;
  }
  std::uint64_t events = 0;
  for (std::uint64_t second = first; second < end; ++second) events += events_in(second);
  if (events == 0) events = events_in(end);  // better than nothing
  // Of the first second, only the part after `begin` counts.
  const double begun = std::chrono::duration<double>(begin.time_since_epoch()).count();
  const double span =
      static_cast<double>(end - first) -
      (second_of(begin) == first ? begun - static_cast<double>(static_cast<std::uint64_t>(begun))
                                 : 0.0);
  return span > 0 ? static_cast<double>(events) / span : 0;
}

void CallMeter::add(time_point begin, time_point end, bool failed) noexcept {
  calls_.fetch_add(1, std::memory_order_relaxed);
  if (failed) failures_.fetch_add(1, std::memory_order_relaxed);
  rate_.add(end);
  Cells* cells = cells_.load(std::memory_order_acquire);
  if (cells == nullptr) {
    auto fresh = std::unique_ptr<Cells>(new (std::nothrow) Cells{});
    if (!fresh) return;
    if (cells_.compare_exchange_strong(cells, fresh.get(), std::memory_order_acq_rel))
      cells = fresh.release();
  }
  const auto ns = std::chrono::nanoseconds(end - begin).count();
  (*cells)[Histogram::bucket_of(ns > 0 ? static_cast<std::uint64_t>(ns) : 0)].fetch_add(
      1, std::memory_order_relaxed);
}

CallMeter::~CallMeter() { delete cells_.load(std::memory_order_acquire); }

Histogram CallMeter::times_ns() const {
  Histogram histogram;
  const Cells* cells = cells_.load(std::memory_order_acquire);
  if (cells == nullptr) return histogram;
  for (std::size_t bucket = 0; bucket < cells->size(); ++bucket)
    if (const std::uint64_t times = (*cells)[bucket].load(std::memory_order_relaxed); times > 0)
      histogram.add_to_bucket(bucket, times);
  return histogram;
}

}  // namespace vcap
