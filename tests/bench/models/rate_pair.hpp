// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "models/by_hand.hpp"

namespace vcap::bench::models {

/// Two figures of one measurement: of_time() measures, and of_cpu() takes the stored second value.
/// Thread safety: thread-compatible.
class RatePair {
 public:
  explicit RatePair(std::function<Rate()> measure) : measure_(std::move(measure)) {}

  double of_time() {
    const Rate rate = measure_();
    left_.push_back(rate.of_cpu);
    return rate.of_time;
  }
  double of_cpu() {
    if (left_.empty()) return measure_().of_cpu;
    const double next = left_.front();
    left_.pop_front();
    return next;
  }

 private:
  const std::function<Rate()> measure_;
  std::deque<double> left_;
};

}  // namespace vcap::bench::models
