// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "vcap/sources/source.hpp"

namespace vcap::soak {

/// Counts the frames that another source gives, and gives no more than `per_second`.
std::unique_ptr<Source> counted(std::unique_ptr<Source> source, double per_second,
                                std::shared_ptr<std::atomic<std::int64_t>> given);

/// A camera in memory that loses its connection from time to time. It ends after `frames`; if
/// `fails`, with an error.
struct CameraPlan {
  double per_second = 25;
  std::int64_t frames = 100;
  bool fails = false;
  std::chrono::milliseconds longest_outage{1000};
  unsigned seed = 0;
};
std::unique_ptr<Source> make_camera(const CameraPlan& plan);

}  // namespace vcap::soak
