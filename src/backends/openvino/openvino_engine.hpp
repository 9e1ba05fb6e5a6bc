// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// The engine "openvino". Reads IR (uses its weights in place) and ONNX (parsed from the view; the
/// parser keeps its own constants until the model is compiled). Also reads TensorFlow Lite and
/// frozen TensorFlow graphs (.pb). Their readers take only a path, so the model is in memory twice
/// while it is compiled. Thread safety: thread-safe.
class OpenVinoEngine final : public Engine {
 public:
  OpenVinoEngine();
  ~OpenVinoEngine() override;

  std::string name() const override { return "openvino"; }
  std::string version() const override;
  std::vector<std::string> devices() const override;
  std::unique_ptr<CompiledModel> compile(const ModelFile& model, const PictureInput& input,
                                         std::optional<cv::Size> size,
                                         const EngineSettings& settings) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
