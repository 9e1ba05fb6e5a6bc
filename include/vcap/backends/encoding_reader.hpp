// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// How an EncodingReader reads. Thread safety: value.
struct EncodingSettings {
  OutputRef output{};
  std::size_t length = 0;  ///< how many numbers an encoding has; 0: as many as the model gives
  bool normalized = true;  ///< whether the encoding is scaled to a Euclidean length of 1
};

/// Reads encodings: vectors by which a thing can be recognised again. Thread-safe.
class VCAP_EXPORT EncodingReader {
 public:
  explicit EncodingReader(EncodingSettings settings) : settings_(std::move(settings)) {}

  /// `nullopt` if a number is NaN or infinite, or if a vector of length 0 must be normalised.
  /// Throws EngineError (model_output) if the output is not a vector or has another length.
  std::optional<std::vector<float>> operator()(const ModelOutputs& outputs) const;

 private:
  EncodingSettings settings_;
};

}  // namespace vcap
