// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openvino/openvino.hpp>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// A model that OpenVINO has compiled. Thread safety: thread-safe.
class OpenVinoModel final : public CompiledModel {
 public:
  /// `blob`: the bytes that `compiled` was imported from; it uses their weights in place.
  OpenVinoModel(std::string name, ov::CompiledModel compiled, std::size_t picture_input,
                std::vector<std::string> outputs,
                std::map<std::string, std::vector<float>> constants, std::string blob = {});

  cv::Size input_size() const override { return size_; }
  std::size_t optimal_requests() const override;
  std::size_t parallel_requests() const override;
  bool runs_on_host() const override;
  std::unique_ptr<InferenceRequest> make_request() override;

  /// The bytes for the cache, which import_openvino_model takes.
  std::string exported() const;

 private:
  const std::string name_;
  const std::string blob_;
  ov::CompiledModel compiled_;
  const std::size_t picture_input_;         // the index among the model's inputs
  const std::vector<std::string> outputs_;  // their names
  const std::map<std::string, std::vector<float>> constants_;
  cv::Size size_;
};

/// Throws as Engine::compile.
std::unique_ptr<OpenVinoModel> compile_openvino_model(
    ov::Core& core, const ModelFile& model, const PictureInput& input, std::optional<cv::Size> size,
    const EngineSettings& settings, const std::string& device, const ov::AnyMap& properties);

/// Makes a model from the result of exported(). Throws what OpenVINO throws if it does not accept
/// it.
std::unique_ptr<OpenVinoModel> import_openvino_model(ov::Core& core, std::string blob,
                                                     const ModelFile& model,
                                                     const EngineSettings& settings,
                                                     const std::string& device,
                                                     const ov::AnyMap& properties);

}  // namespace vcap
