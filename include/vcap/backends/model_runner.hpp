// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include <opencv2/core/mat.hpp>

#include "vcap/backends/engine.hpp"
#include "vcap/backends/model_outputs.hpp"
#include "vcap/batching/batch_policy.hpp"

namespace vcap {

/// Runs pictures through a model and keeps its device busy.
///
/// Owns a compiled model and a pool of requests for each of the input's sizes. It compiles the
/// first size at once, and others when a picture first needs them. Several threads may call run()
/// at the same time: they share the pool, so that the end of one call overlaps the next. Made by
/// load_model(), or by code that runs a model itself. Thread safety: thread-safe; the destructor
/// does not wait, so no call of run() may be in progress.
class VCAP_EXPORT ModelRunner {
 public:
  /// Takes what the model gave for the picture at that index. The outputs are valid during the
  /// call. [a thread that called run; one call at a time for each call of run]
  using Read = std::function<void(std::size_t index, const ModelOutputs& outputs)>;

  /// Counts of work. Thread safety: value.
  struct Counts {
    std::size_t pictures = 0;  ///< that were given to the model
    std::size_t shared = 0;    ///< of these: used in place, without a copy of their pixels
  };

  /// Compiles the model for its first size. `model` must outlive this. Throws as Engine::compile
  /// and validate(PictureInput).
  ModelRunner(std::shared_ptr<Engine> engine, ModelFile model, PictureInput input,
              EngineSettings settings);
  ~ModelRunner();
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;

  /// Runs all pictures, each as soon as a request is free, and hands over outputs as they complete,
  /// in any order. If pictures fail, throws the error of the first that failed, after all started
  /// requests are done. Throws EngineError (model_input) for a picture that cannot be an input.
  void run(std::span<const cv::Mat> pictures, const Read& read);

  /// A policy for a BatchExecutor that feeds this runner: one picture a batch, and enough workers
  /// to keep the device busy. The reasons are in docs/backends.md.
  BatchPolicy batch_policy() const;

  /// The number of requests in progress divided by the number that keeps the device busy. Never
  /// blocks.
  double workload() const noexcept;
  Counts counts() const noexcept;
  const PictureInput& input() const& noexcept;
  const PictureInput& input() const&& = delete;  // would refer into a temporary
  /// The model's first input size, in pixels.
  cv::Size input_size() const noexcept;

 private:
  class Call;
  class VCAP_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
