// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/backends/detector_backend.hpp"

namespace vcap::bench::models {

/// A network that figures are taken with. Thread safety: value.
struct Network {
  std::string name{};
  std::filesystem::path file{};
  ModelSpec spec{};
  long images = 0;  ///< of a sample: about a second's worth for two cores
};

Network pose();                   ///< MediaPipe's detector of persons, 224×224
Network yunet(cv::Size size);     ///< YuNet, a small detector of faces
Network yolo();                   ///< as large as YOLOv8n, 320×320, weights at random
std::vector<Network> networks();  ///< pose, yunet 320×320 and 640×640, yolo
std::filesystem::path large();    ///< 60 MB of weights, few operations

/// What has to be there for the figures and is not, with the remedy; absent: all is there.
std::optional<std::string> missing();

/// The network's file, mapped into memory. Its name is that of the spec.
CapsuleFiles files_of(const Network& network);

/// Parts of frames of the footage, 384×288, each with memory of its own.
const std::vector<cv::Mat>& pictures();

/// The network behind predict(), with all that a capsule has around it.
std::unique_ptr<DetectorBackend> make_backend(const Network& network, EngineSettings settings = {});

}  // namespace vcap::bench::models
