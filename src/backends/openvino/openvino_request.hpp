// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openvino/openvino.hpp>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// Thread safety: thread-compatible, as InferenceRequest says.
class OpenVinoRequest final : public InferenceRequest {
 public:
  OpenVinoRequest(const std::string& model, ov::InferRequest request, std::size_t picture_input,
                  std::vector<std::string> output_names,
                  const std::map<std::string, std::vector<float>>& constants);
  ~OpenVinoRequest() override;

  cv::Mat input() override;
  bool share_input(const cv::Mat& picture) override;
  void start(Done done) override;
  void run() override;
  std::span<const TensorView> outputs() override;

 private:
  const std::string model_;
  ov::InferRequest request_;
  const std::size_t picture_input_;
  ov::Tensor own_input_;
  bool shares_ = false;
  const std::vector<std::string> output_names_;
  std::vector<TensorView> outputs_;
};

}  // namespace vcap
