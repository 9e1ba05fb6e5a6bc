// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/sources/source.hpp"

namespace vcap::test {

/// A hash of an image's pixels: FNV-1a over eight bytes at a time.
inline std::uint64_t hash_of(const cv::Mat& image) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  const std::size_t bytes = static_cast<std::size_t>(image.cols) * image.elemSize();
  for (int y = 0; y < image.rows; ++y) {
    std::size_t x = 0;
    for (std::uint64_t eight; x + sizeof eight <= bytes; x += sizeof eight) {
      std::memcpy(&eight, image.ptr(y) + x, sizeof eight);
      add(eight);
    }
    for (; x < bytes; ++x) add(image.ptr(y)[x]);
  }
  return hash;
}

/// A frame with a hash of its pixels. The hash of a null frame is that of an empty image.
struct SeenFrame {
  std::int64_t index;
  std::chrono::nanoseconds pts;
  Discontinuity discontinuity;
  bool is_null;
  std::uint64_t pixels;
  bool operator==(const SeenFrame&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const SeenFrame& frame) {
  return out << "frame " << frame.index << " at " << frame.pts.count() << " ns, "
             << to_string(frame.discontinuity) << (frame.is_null ? ", null" : "") << ", pixels "
             << std::hex << frame.pixels << std::dec;
}

inline std::vector<SeenFrame> read_frames(Source& source, std::size_t most = SIZE_MAX) {
  std::vector<SeenFrame> all;
  while (all.size() < most) {
    const std::optional<Frame> frame = source.read();
    if (!frame) break;
    all.push_back(
        {frame->index, frame->pts, frame->discontinuity, frame->is_null, hash_of(frame->image)});
  }
  return all;
}

}  // namespace vcap::test
