// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// A line of text that was found in a picture but is not read yet. Thread safety: value.
struct TextBox {
  Coords corners{};  ///< four, clockwise from the left top, in pixels of the picture and within it
  double confidence = 0;  ///< in 0…1

  bool operator==(const TextBox&) const = default;
};

/// How a TextBoxReader reads. Thread safety: value.
struct TextBoxSettings {
  OutputRef output{};           ///< [1,1,H,W]: the probability that a cell belongs to text
  double cell_threshold = 0.3;  ///< the probability above which a cell counts as text, in 0…1
  double threshold = 0.6;       ///< the minimum mean probability within a box, in 0…1
  double unclip_ratio = 1.5;  ///< growth of boxes, in 0…100: area·ratio / perimeter at each side
  double min_side = 3;        ///< minimum length of a box's shorter side in cells, before it grows
  std::size_t max_candidates = 1000;  ///< how many boxes are examined, > 0
};

/// Finds text from the probability map of a DB network. Cells above the threshold that touch each
/// other become the smallest rectangle, of any angle, around them. The rectangle then grows, since
/// such networks are trained on shrunk areas of text. Cells that are NaN or infinite count as no
/// text.
///
/// Source: M. Liao et al., "Real-time Scene Text Detection with Differentiable Binarization", AAAI
/// 2020. Thread-safe.
class VCAP_EXPORT TextBoxReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit TextBoxReader(TextBoxSettings settings);

  /// Boxes by falling confidence. Throws EngineError (model_output) if the output has another
  /// shape.
  std::vector<TextBox> operator()(const ModelOutputs& outputs) const;

 private:
  TextBoxSettings settings_;
};

/// A text that was read. Thread safety: value.
struct RecognizedText {
  std::string text{};     ///< UTF-8 if the dictionary is
  double confidence = 0;  ///< the mean of the characters' confidences, in 0…1; 0 for an empty text

  bool operator==(const RecognizedText&) const = default;
};

/// How a TextLineReader reads. Thread safety: value.
struct TextLineSettings {
  OutputRef output{};  ///< [1,T,C] or [T,1,C]: a score for each step and character
  /// The C − 1 characters in the order of their scores, without the blank. A space is one of them
  /// if the model has it.
  std::vector<std::string> dictionary{};
  std::size_t blank = 0;  ///< the index of the blank among the scores; often 0 or the last
  bool logits = false;    ///< whether scores are logits instead of probabilities
};

/// Reads a line of text by greedy CTC decoding. It takes the best character of each step, makes one
/// character of each run, and leaves out blanks. A character's confidence is that of its run's
/// first step. A step with a NaN or infinite score counts as a blank.
///
/// Source: A. Graves et al., "Connectionist Temporal Classification", ICML 2006, section 3.2 (best
/// path decoding). Thread-safe.
class VCAP_EXPORT TextLineReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit TextLineReader(TextLineSettings settings);

  /// Throws EngineError (model_output) if the output has another shape.
  RecognizedText operator()(const ModelOutputs& outputs) const;

 private:
  TextLineSettings settings_;
};

}  // namespace vcap
