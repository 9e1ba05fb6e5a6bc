// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// What one image shows, and what it was taken for. Thread safety: value.
struct ClassifiedSample {
  std::string truth{};
  std::optional<std::string> found{};  ///< absent: taken for nothing, which is wrong
};

/// How classes were told apart. A ratio without a denominator is absent. Thread safety: value.
struct ClassificationScores {
  struct Class {
    std::string label{};
    std::int64_t samples = 0;           ///< that show it
    std::optional<double> precision{};  ///< of those taken for it, how many show it
    std::optional<double> recall{};     ///< of those that show it, how many were taken for it
    std::optional<double> f1{};
  };
  std::vector<Class> classes{};  ///< all labels, true or found, sorted
  /// [truth][found]: how many samples; places as in `classes`. Samples that were taken for nothing
  /// are in none.
  std::vector<std::vector<std::int64_t>> confusion{};
  std::vector<std::int64_t> not_found{};  ///< samples of each class that were taken for nothing
  std::int64_t samples = 0;
  std::int64_t right = 0;
  std::optional<double> accuracy{};  ///< right / samples
  /// Means over the classes that samples show, an absent ratio being 0.
  std::optional<double> macro_precision{}, macro_recall{}, macro_f1{};
};

/// Compares labels with true ones. Thread-safe.
/// Source: M. Sokolova, G. Lapalme, "A systematic analysis of performance measures for
/// classification tasks", Information Processing & Management 45, 2009.
VCAP_EXPORT ClassificationScores score_classification(std::span<const ClassifiedSample> samples);

}  // namespace vcap
