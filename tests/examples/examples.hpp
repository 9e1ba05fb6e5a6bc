// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <opencv2/videoio.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/footage.hpp"
#include "support/paths.hpp"
#include "vcap/loading/load_capsule.hpp"

// Shared by the tests of the examples: the packed capsules, and real footage.

namespace examples {

inline std::filesystem::path capsule_path(const std::string& name) {
  return std::filesystem::path(vcap::test::built("examples/capsules")) / name / (name + ".cap");
}

inline std::shared_ptr<vcap::Capsule> load(const std::string& name) {
  return vcap::load_capsule(capsule_path(name), {.devices = {"CPU:0"}});
}

using vcap::test::footage;

/// The first frames of a clip, read by OpenCV alone. Each has its own copy of the pixels.
inline std::vector<cv::Mat> read_frames(const std::filesystem::path& clip, std::size_t count) {
  cv::VideoCapture video(clip.string());
  std::vector<cv::Mat> frames;
  for (cv::Mat frame; frames.size() < count && video.read(frame);) frames.push_back(frame.clone());
  if (frames.size() < count)
    throw std::runtime_error(clip.string() + " has only " + std::to_string(frames.size()) +
                             " frames that can be read, not " + std::to_string(count));
  return frames;
}

inline vcap::DetectionNode person(const cv::Rect2d& box) {
  return {.name = "person", .coords = vcap::rect_to_coords(box)};
}

}  // namespace examples
