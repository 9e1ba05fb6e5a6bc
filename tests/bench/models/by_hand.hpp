// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include "models/networks.hpp"

namespace vcap::bench::models {

/// How fast images went through. Thread safety: value.
struct Rate {
  double of_time = 0;  ///< images a second
  double of_cpu = 0;   ///< images a second of processor time
};

/// Counts the images of a loop, and measures a given number of them once the loop has found its
/// pace: from image to image, since one more or less in a span of time would be a jump of a
/// percent. Thread safety: thread-safe.
class Window {
 public:
  explicit Window(long images, long warm_up = 0);

  /// Whether nothing more counts.
  bool over() const { return items_ >= end_after_; }
  long images() const { return end_after_; }  ///< until it is over, the warm-up included
  void count();
  Rate rate() const;  ///< once all who count are done

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

/// A network by OpenVINO's own interface, as a program without vcap runs it: pictures are fitted
/// and outputs read by the same functions, and all else is OpenVINO's. Thread safety:
/// thread-compatible.
class ByHand {
 public:
  ByHand(const Network& network, PerformanceGoal goal);
  ~ByHand();

  /// All of the device's requests in flight: each one's completion reads its outputs, fits the next
  /// picture into it, and starts it again.
  Rate refill();
  /// The same with tensors that were filled before, and outputs that nobody reads.
  Rate refill_ready(long images);
  /// Fits the picture, waits for its result, and reads that.
  void run(const cv::Mat& picture);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Seconds that a start takes by hand: reading and compiling, and importing what that exported.
struct StartTimes {
  double cold = 0, warm = 0;
};
StartTimes start_by_hand(const Network& network);

/// Two models of the same file in one core, each run once on each of its requests; they last until
/// the result is gone.
std::shared_ptr<void> compile_twice(const std::filesystem::path& file);

/// The rate of four models of the same file, of the rate of one. Two threads in all run them, each
/// `in_a_row` times before it goes on to the next model.
double in_turns(const std::filesystem::path& file, int in_a_row);

/// Writes the model as OpenVINO's own files, FOLDER/model.xml and model.bin.
void write_ir(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace vcap::bench::models
