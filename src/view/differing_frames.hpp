// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/records/frame_record.hpp"
#include "view/frame_difference.hpp"

namespace vcap {

/// An object of a frame, as it is drawn. Thread safety: value.
struct DrawnPair {
  FrameDifference::Kind kind = FrameDifference::Kind::same;
  std::optional<BoundingBox> a{}, b{};
  std::string text{};  ///< the name, or what it was renamed to
};

/// A frame that differs, as it is shown. Thread safety: value.
struct DifferingFrame {
  std::string stream{};  ///< with its group
  std::string id{};      ///< of the stream
  std::int64_t index = 0;
  std::chrono::nanoseconds pts{0};
  cv::Size resolution{};
  double score = 0;
  std::vector<DrawnPair> pairs{};    ///< those that differ first
  std::vector<std::string> texts{};  ///< what differs, one a line
  std::size_t left_out = 0;          ///< lines that are not in `texts`
};

/// The frames that differ most; of the frames within a second of a stream, only one. Thread safety:
/// value.
class DifferingFrames {
 public:
  static constexpr std::size_t kMostPairs = 100;  ///< that are drawn
  static constexpr std::size_t kMostTexts = 12;

  explicit DifferingFrames(std::size_t most) : most_(most) {}

  /// `stream`: with its group.
  void add(const FrameRecord& a, const FrameDifference& difference, const std::string& stream);
  /// The largest score first.
  std::vector<DifferingFrame> sorted() const;

 private:
  DifferingFrame* of_same_second(const std::string& stream, std::chrono::nanoseconds pts);

  std::size_t most_;
  std::vector<DifferingFrame> frames_;
};

}  // namespace vcap
