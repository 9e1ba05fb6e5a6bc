// SPDX-License-Identifier: Apache-2.0
#include "media/decoder_threads.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/cores.hpp"

namespace vcap {
namespace {

constexpr int kMostOfAVideo = 4;
constexpr int kMostOfACore = 2;

std::atomic<int> in_use_by_all{0};

}  // namespace

DecoderThreads::DecoderThreads(int most) noexcept {
  if (most <= 0) most = kMostOfAVideo;
  int others = in_use_by_all.load(std::memory_order_relaxed);
  do {
    count_ = std::min({most, kMostOfAVideo, static_cast<int>(cores()), limit() - others});
    if (count_ < 2) count_ = 0;  // one thread gains nothing: the reading thread waits for it
  } while (
      !in_use_by_all.compare_exchange_weak(others, others + count_, std::memory_order_relaxed));
}

DecoderThreads::~DecoderThreads() { give_back(); }

void DecoderThreads::give_back() noexcept {
  in_use_by_all.fetch_sub(std::exchange(count_, 0), std::memory_order_relaxed);
}

int DecoderThreads::in_use() noexcept { return in_use_by_all.load(std::memory_order_relaxed); }

int DecoderThreads::limit() noexcept { return kMostOfACore * static_cast<int>(cores()); }

}  // namespace vcap
