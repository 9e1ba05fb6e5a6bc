// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/core/utility.hpp>
#include <string>
#include <utility>
#include <vector>

#include "examples/examples.hpp"
#include "vcap/pipeline/pipeline.hpp"

// Runs whole streams through the example capsules.

namespace examples {

/// A stored source of these pictures, 25 a second.
class Pictures final : public vcap::Source {
 public:
  explicit Pictures(std::vector<cv::Mat> pictures, std::vector<std::int64_t> seeks = {})
      : pictures_(std::move(pictures)), seeks_(std::move(seeks)) {}

  vcap::SourceInfo info() const override { return {.description = "pictures"}; }
  std::optional<vcap::Frame> read() override {
    using enum vcap::Discontinuity;
    if (next_ == static_cast<std::int64_t>(pictures_.size())) return std::nullopt;
    const std::int64_t index = next_++;
    return vcap::Frame{.image = pictures_[static_cast<std::size_t>(index)],
                       .index = index,
                       .pts = std::chrono::milliseconds(40 * index),
                       .discontinuity = index == 0                              ? start
                                        : std::ranges::count(seeks_, index) > 0 ? seek
                                                                                : none};
  }

 private:
  const std::vector<cv::Mat> pictures_;
  const std::vector<std::int64_t> seeks_;  ///< indexes of frames after a seek
  std::int64_t next_ = 0;
};

/// The records of a stream that goes through one capsule without an error.
inline std::vector<vcap::FrameRecord> run(std::shared_ptr<vcap::Capsule> capsule,
                                          vcap::StreamConfig config) {
  std::vector<vcap::FrameRecord> records;
  config.id = "stream";
  config.sinks = {vcap::make_callback_sink(
      [&](const vcap::FrameRecord& record) { records.push_back(record); }, false)};
  vcap::Pipeline pipeline({std::move(capsule)});
  pipeline.open_stream(std::move(config));
  const vcap::StreamReport report = pipeline.wait("stream");
  EXPECT_EQ(report.failure.value_or(""), "");
  EXPECT_EQ(report.errors, 0);
  return records;
}

inline std::vector<vcap::FrameRecord> run(std::shared_ptr<vcap::Capsule> capsule,
                                          std::vector<cv::Mat> pictures,
                                          std::vector<std::int64_t> seeks = {}) {
  return run(std::move(capsule),
             {.source = std::make_unique<Pictures>(std::move(pictures), std::move(seeks))});
}

inline std::vector<std::string> lines_of(const std::vector<vcap::FrameRecord>& records) {
  std::vector<std::string> lines;
  for (const vcap::FrameRecord& record : records) lines.push_back(nlohmann::json(record).dump());
  return lines;
}

/// Makes OpenCV use `threads` threads while this object lives.
class OpenCvThreads {
 public:
  explicit OpenCvThreads(int threads) { cv::setNumThreads(threads); }
  ~OpenCvThreads() { cv::setNumThreads(before_); }
  OpenCvThreads(const OpenCvThreads&) = delete;
  OpenCvThreads& operator=(const OpenCvThreads&) = delete;

 private:
  const int before_ = cv::getNumThreads();
};

/// Whether the records of these frames are the same with one and with many threads of OpenCV.
inline testing::AssertionResult gives_the_same_with_any_threads(
    const std::shared_ptr<vcap::Capsule>& capsule, const std::vector<cv::Mat>& frames) {
  const auto lines = [&](int count) {
    const OpenCvThreads threads(count);
    return lines_of(run(capsule, frames));
  };
  const std::vector<std::string> one = lines(1);
  for (const int count : {2, 3, 7})
    if (lines(count) != one)
      return testing::AssertionFailure() << "the records differ with " << count << " threads";
  return testing::AssertionSuccess();
}

}  // namespace examples
