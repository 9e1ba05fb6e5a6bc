// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/backends/engine.hpp"

namespace vcap {

/// The engine "opencv_dnn": OpenCV's own networks, on the CPU. Reads ONNX, frozen TensorFlow graphs
/// (.pb), Darknet (.cfg, weights) and Caffe (.prototxt, weights). OpenCV copies the weights of all
/// these formats. One request runs at a time, on all cores, in the thread that starts it. Thread
/// safety: thread-safe.
class OpenCvDnnEngine final : public Engine {
 public:
  std::string name() const override { return "opencv_dnn"; }
  std::string version() const override;
  std::vector<std::string> devices() const override { return {"CPU"}; }
  std::unique_ptr<CompiledModel> compile(const ModelFile& model, const PictureInput& input,
                                         std::optional<cv::Size> size,
                                         const EngineSettings& settings) override;
};

}  // namespace vcap
