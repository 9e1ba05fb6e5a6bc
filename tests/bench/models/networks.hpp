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

/// A network for measurements. Thread safety: value.
struct Network {
  std::string name{};
  std::filesystem::path file{};
  ModelSpec spec{};
  long images = 0;  ///< per sample: about one second on two cores
};

Network pose();                   ///< MediaPipe's person detector, 224×224
Network yunet(cv::Size size);     ///< YuNet, a small face detector
Network yolo();                   ///< as large as YOLOv8n, 320×320, random weights
std::vector<Network> networks();  ///< pose, yunet 320×320 and 640×640, yolo
std::filesystem::path large();    ///< 60 MB of weights, few operations

/// What is missing for the measurements, and the remedy; nullopt if nothing is missing.
std::optional<std::string> missing();

/// The network's file, mapped into memory, under the name in the spec.
CapsuleFiles files_of(const Network& network);

/// Parts of frames of the footage, 384×288, each in its own memory.
const std::vector<cv::Mat>& pictures();

/// The network behind predict(), with everything that a capsule adds.
std::unique_ptr<DetectorBackend> make_backend(const Network& network, EngineSettings settings = {});

}  // namespace vcap::bench::models
