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
  /// How the model's scores become confidences.
  enum class Activation {
    none,     ///< scores are confidences already
    softmax,  ///< logits of labels that exclude each other
    sigmoid,  ///< logits of labels that do not exclude each other
  };

  std::string name{};  ///< such as "color"; the category of the attribute
  OutputRef output{};
  std::vector<std::string> labels{};  ///< of the scores, in their order
  /// If set, several heads share the output, and the scores of this head begin at this index.
  /// Otherwise the output has as many scores as there are labels.
  std::optional<std::size_t> first_score{};
  Activation activation = Activation::softmax;
  double threshold = 0;  ///< the minimum confidence, in 0…1
  std::size_t most = 1;  ///< how many labels are given at most; 0: all above the threshold
};

/// A label and how sure the model is of it. Thread safety: value.
struct ScoredLabel {
  std::size_t index = 0;  ///< in the head's list
  std::string label{};
  double confidence = 0;  ///< in 0…1

  bool operator==(const ScoredLabel&) const = default;
};

/// What a head found: labels by falling confidence; the list may be empty. Thread safety: value.
struct Classification {
  std::string name{};  ///< the name of the head
  std::vector<ScoredLabel> labels{};

  bool operator==(const Classification&) const = default;
};

/// The best label of each classification that has one, in the form of DetectionNode::attributes.
/// Thread-safe.
VCAP_EXPORT std::map<std::string, std::string> attributes(
    const std::vector<Classification>& classifications);

/// Reads classifiers of one or more heads. A label whose score is NaN or infinite is left out. A
/// softmax with such a score gives no label. Thread-safe.
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
