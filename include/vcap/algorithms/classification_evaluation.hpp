// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// The true label of an image, and the label that was found. Thread safety: value.
struct ClassifiedSample {
  std::string truth{};
  std::optional<std::string> found{};  ///< absent: no label was found, which counts as wrong
};

/// How well the found labels agree with the true ones. A ratio is absent if its denominator is 0.
/// Thread safety: value.
struct ClassificationScores {
  /// The scores of one label.
  struct Class {
    std::string label{};
    std::int64_t samples = 0;           ///< whose true label is this one
    std::optional<double> precision{};  ///< share of right samples among those found as this class
    std::optional<double> recall{};     ///< share of right samples among those of this class
    std::optional<double> f1{};
  };
  std::vector<Class> classes{};  ///< all labels, true or found, sorted
  /// [truth][found]: how many samples, in the order of `classes`. Samples without a found label are
  /// not counted here.
  std::vector<std::vector<std::int64_t>> confusion{};
  std::vector<std::int64_t> not_found{};  ///< samples of each class without a found label
  std::int64_t samples = 0;
  std::int64_t right = 0;
  std::optional<double> accuracy{};  ///< right / samples
  /// Means over the classes that have samples; an absent ratio counts as 0.
  std::optional<double> macro_precision{}, macro_recall{}, macro_f1{};
};

/// Compares labels with true ones. Thread-safe.
/// Source: M. Sokolova, G. Lapalme, "A systematic analysis of performance measures for
/// classification tasks", Information Processing & Management 45, 2009.
VCAP_EXPORT ClassificationScores score_classification(std::span<const ClassifiedSample> samples);

}  // namespace vcap
