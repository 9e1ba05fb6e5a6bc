// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/model_runner.hpp"
#include "vcap/capsule/base_backend.hpp"

namespace vcap {

/// A backend that runs pictures through a network. `predict(picture)` gives the result that its
/// reader makes from the outputs.
///
///     class Backend final : public vcap::ModelBackend<vcap::Detections> { … };
///
/// Authors derive from it, give a runner (load_model) and a reader, and override process_frame.
/// Pictures of all frames of all streams share the runner's requests. Each result is ready when its
/// own request is done. Thread safety: as BaseBackend; the reader is called by several threads.
template <class Result>
class ModelBackend : public BaseStreamingBackend<cv::Mat, Result> {
 public:
  /// Makes a result from one picture's outputs. Thread-safe. predict() throws what it throws.
  using Reader = std::function<Result(const ModelOutputs&)>;

  ModelBackend(std::shared_ptr<ModelRunner> runner, Reader reader)
      : ModelBackend(runner, std::move(reader), runner->batch_policy()) {}
  ModelBackend(std::shared_ptr<ModelRunner> runner, Reader reader, BatchPolicy policy)
      : BaseStreamingBackend<cv::Mat, Result>(std::move(policy)),
        runner_(std::move(runner)),
        reader_(std::move(reader)) {}

  void batch_predict_each(std::span<const cv::Mat> pictures,
                          BatchOutputs<Result>& outputs) override {
    std::vector<std::optional<Result>> results(pictures.size());
    runner_->run(pictures, [&](std::size_t index, const ModelOutputs& model_outputs) {
      results[index] = reader_(model_outputs);
      // Requests may end in any order; outputs are added in the order of the pictures.
      while (outputs.size() < results.size() && results[outputs.size()])
        outputs.add(std::move(*results[outputs.size()]));
    });
  }

  ModelRunner& runner() const noexcept { return *runner_; }

 private:
  const std::shared_ptr<ModelRunner> runner_;
  const Reader reader_;
};

}  // namespace vcap
