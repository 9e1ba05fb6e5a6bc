// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of readers: outputs made by hand, and checks that every detection must pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/throws_error.hpp"
#include "vcap/backends/detection.hpp"
#include "vcap/backends/model_outputs.hpp"

namespace vcap {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Numbers that networks should not give, but sometimes do.
constexpr float kBadNumbers[] = {kNan, kInfinity, -kInfinity};
constexpr float kHugeNumbers[] = {1e30f, -1e30f, 3e38f, -3e38f, 1e-40f};

/// Outputs of a model for one picture; owns their values.
class MadeOutputs {
 public:
  MadeOutputs(cv::Size input, cv::Size picture, PictureMap map = {})
      : input_(input), picture_(picture), map_(map) {}
  explicit MadeOutputs(cv::Size size) : MadeOutputs(size, size) {}

  MadeOutputs& add(std::string name, std::vector<std::size_t> shape, std::vector<float> values) {
    values_.push_back(std::move(values));
    tensors_.push_back({std::move(name), std::move(shape), {}});
    return *this;
  }
  /// An output with the same value everywhere.
  MadeOutputs& fill(std::string name, std::vector<std::size_t> shape, float value) {
    const std::size_t count =
        std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>{});
    return add(std::move(name), std::move(shape), std::vector<float>(count, value));
  }
  /// A value of an output, for changing it.
  float& value(std::size_t output, std::size_t place) { return values_.at(output).at(place); }
  std::vector<float>& values(std::size_t output) { return values_.at(output); }
  std::size_t size() const { return tensors_.size(); }

  /// The view is valid until this object is changed.
  ModelOutputs view() const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].values = values_[i];
    return {tensors_, input_, picture_, map_};
  }
  operator ModelOutputs() const { return view(); }

 private:
  cv::Size input_, picture_;
  PictureMap map_;
  std::vector<std::vector<float>> values_;
  mutable std::vector<TensorView> tensors_;  // views of values_
};

/// Outputs for an input of 320×320, made from a picture of 640×480: it was halved and has 40 rows
/// of padding above and below.
inline MadeOutputs letterboxed() {
  return MadeOutputs({320, 320}, {640, 480},
                     {.x_scale = 2, .x_shift = 0, .y_scale = 2, .y_shift = -80});
}

/// The reader refuses wrong shapes with a message that `message` matches.
template <class Reader>
void expect_refused(const Reader& reader, const MadeOutputs& outputs,
                    const testing::Matcher<std::string>& message) {
  EXPECT_THAT([&] { reader(outputs); }, ThrowsError<EngineError>(ErrorCode::model_output, message));
}

template <class Make>
void expect_bad_setting(Make make, const testing::Matcher<std::string>& message) {
  EXPECT_THAT(make, ThrowsError<EngineError>(ErrorCode::invalid_model_spec, message));
}

/// Checks what must be true of detections for all outputs of a network.
inline void expect_sound(const Detections& detections, cv::Size picture, double threshold) {
  double last = 1;
  for (const Detection& detection : detections) {
    const BoundingBox& box = detection.box;
    EXPECT_TRUE(box.x1 >= 0 && box.x1 < box.x2 && box.x2 <= picture.width);
    EXPECT_TRUE(box.y1 >= 0 && box.y1 < box.y2 && box.y2 <= picture.height);
    EXPECT_TRUE(detection.confidence >= threshold && detection.confidence <= last);
    last = detection.confidence;
    for (const Keypoint& keypoint : detection.keypoints)
      EXPECT_TRUE(std::isfinite(keypoint.point.x) && std::isfinite(keypoint.point.y));
  }
}

/// Puts each bad number at each place of the outputs, one at a time. The reader must give the same
/// number of detections or fewer, and all must be sound.
template <class Reader>
void expect_bad_numbers_dropped(const Reader& reader, MadeOutputs outputs, double threshold) {
  const std::size_t all = reader(outputs).size();
  const cv::Size picture = outputs.view().picture;
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    for (std::size_t place = 0; place < outputs.values(output).size(); ++place) {
      for (const float bad : kBadNumbers) {
        const float good = std::exchange(outputs.value(output, place), bad);
        const Detections detections = reader(outputs);
        EXPECT_LE(detections.size(), all);
        expect_sound(detections, picture, threshold);
        outputs.value(output, place) = good;
      }
    }
    const std::vector<float> kept = outputs.values(output);
    for (const float bad : kBadNumbers) {
      for (float& value : outputs.values(output)) value = bad;
      EXPECT_THAT(reader(outputs), testing::IsEmpty()) << "output " << output << ": " << bad;
      std::ranges::copy(kept, outputs.values(output).begin());
    }
  }
}

/// Puts huge numbers at each place of the outputs. All results must be sound.
template <class Reader>
void expect_huge_numbers_survived(const Reader& reader, MadeOutputs outputs, double threshold) {
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    for (std::size_t place = 0; place < outputs.values(output).size(); ++place) {
      for (const float huge : kHugeNumbers) {
        const float good = std::exchange(outputs.value(output, place), huge);
        try {
          expect_sound(reader(outputs), outputs.view().picture, threshold);
        } catch (const EngineError& error) {
          EXPECT_EQ(error.code(), ErrorCode::model_output);  // for a label that is not in the list
        }
        outputs.value(output, place) = good;
      }
    }
  }
}

MATCHER_P4(BoxNear, x1, y1, x2, y2, "") {
  const BoundingBox& box = arg.box;
  *result_listener << "box " << box.x1 << " " << box.y1 << " " << box.x2 << " " << box.y2;
  return std::abs(box.x1 - x1) < 1e-3 && std::abs(box.y1 - y1) < 1e-3 &&
         std::abs(box.x2 - x2) < 1e-3 && std::abs(box.y2 - y2) < 1e-3;
}

MATCHER_P2(PointNear, x, y, "") {
  *result_listener << "point " << arg.point.x << " " << arg.point.y;
  return std::abs(arg.point.x - x) < 1e-3 && std::abs(arg.point.y - y) < 1e-3;
}

}  // namespace vcap
