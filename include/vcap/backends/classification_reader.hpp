// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// One question that a classifier answers, such as the colour of a car. Thread safety: value.
struct ClassificationHead {
  /// What makes confidences of the model's scores.
  enum class Activation {
    none,     ///< they are confidences
    softmax,  ///< logits of labels that exclude each other
    sigmoid,  ///< logits of labels that do not exclude each other
  };

  std::string name{};  ///< such as "color"; the category of the attribute
  OutputRef output{};
  std::vector<std::string> labels{};  ///< of the scores, in their order
  /// If set, the head is this score and the following ones of an output that several heads share.
  /// Otherwise the output has as many scores as there are labels.
  std::optional<std::size_t> first_score{};
  Activation activation = Activation::softmax;
  double threshold = 0;  ///< the least confidence, in 0…1
  std::size_t most = 1;  ///< how many labels are given at most; 0: all above the threshold
};

/// A label and how sure the model is of it. Thread safety: value.
struct ScoredLabel {
  std::size_t index = 0;  ///< in the head's list
  std::string label{};
  double confidence = 0;  ///< in 0…1

  bool operator==(const ScoredLabel&) const = default;
};

/// What a head found: labels by falling confidence, maybe none. Thread safety: value.
struct Classification {
  std::string name{};  ///< the head's
  std::vector<ScoredLabel> labels{};

  bool operator==(const Classification&) const = default;
};

/// The best label of each classification that has one, as DetectionNode::attributes takes them.
/// Thread-safe.
VCAP_EXPORT std::map<std::string, std::string> attributes(
    const std::vector<Classification>& classifications);

/// Reads classifiers of one or more heads. Scores that are NaN or infinite lose their label, and a
/// softmax with one of them gives no label. Thread-safe.
class VCAP_EXPORT ClassificationReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit ClassificationReader(std::vector<ClassificationHead> heads);

  /// A classification for each head, in their order. Throws EngineError (model_output) if an output
  /// does not fit its head's labels.
  std::vector<Classification> operator()(const ModelOutputs& outputs) const;

 private:
  std::vector<ClassificationHead> heads_;
};

}  // namespace vcap
