// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include "models/networks.hpp"

namespace vcap::bench::models {

/// Rates of images. Thread safety: value.
struct Rate {
  double of_time = 0;  ///< images per second
  double of_cpu = 0;   ///< images per second of processor time
};

/// Counts the images of a loop, and measures a given number of them after a warm-up. It measures
/// from image to image, since one image more or less in a fixed time would be a jump of a percent.
/// Thread safety: thread-safe.
class Window {
 public:
  explicit Window(long images, long warm_up = 0);

  /// Whether all images have been counted.
  bool over() const { return items_ >= end_after_; }
  long images() const { return end_after_; }  ///< with the warm-up
  void count();
  Rate rate() const;  ///< call it when no thread counts any more

 private:
  struct Moment {
    std::chrono::steady_clock::time_point time{};
    double cpu = 0;
  };
  static Moment now();

  const long begin_after_, end_after_;
  std::atomic<long> items_{0};
  Moment begin_{}, end_{};
};

/// A network with OpenVINO's own interface, as a program without vcap runs it. The functions that
/// fit pictures and read outputs are vcap's; all else is OpenVINO. Thread safety:
/// thread-compatible.
class ByHand {
 public:
  ByHand(const Network& network, PerformanceGoal goal);
  ~ByHand();

  /// Keeps all requests of the device in flight. The completion of each reads its outputs, fits the
  /// next picture into it, and starts it again.
  Rate refill();
  /// Callers who wait for their own results: each takes a free request, fits its picture, waits for
  /// the result and reads it. No other threads are involved but those of OpenVINO.
  Rate serve(int callers);
  /// refill() with tensors that are filled before, and outputs that are not read.
  Rate refill_ready(long images);
  /// Fits the picture, runs it, and reads its result.
  void run(const cv::Mat& picture);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The seconds of a start by hand. Cold: read and compile. Warm: import the exported model.
struct StartTimes {
  double cold = 0, warm = 0;
};
StartTimes start_by_hand(const Network& network);

/// Two models of the same file in one core; each of their requests has run once. They exist until
/// the result is destroyed.
std::shared_ptr<void> compile_twice(const std::filesystem::path& file);

/// The rate of four models of the same file, divided by the rate of one. Two threads run them; each
/// runs a model `in_a_row` times before it continues to the next one.
double in_turns(const std::filesystem::path& file, int in_a_row);

/// Writes the model in OpenVINO's format: FOLDER/model.xml and FOLDER/model.bin.
void write_ir(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace vcap::bench::models
