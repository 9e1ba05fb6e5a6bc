// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/algorithms/classification_evaluation.hpp"
#include "vcap/algorithms/detection_evaluation.hpp"
#include "vcap/algorithms/tracking_evaluation.hpp"

namespace vcap::cli {

/// Everything that `vcap eval` reports.
struct EvalReport {
  struct Class {
    std::string name{};
    std::int64_t truth_boxes = 0;
    std::int64_t found_boxes = 0;
    DetectionScores detection{};
    AveragePrecision average_precision{};
    std::vector<PrecisionRecallPoint> curve{};
    std::optional<TrackingCounts> tracking{};
  };

  std::vector<std::string> ground_truth{};  ///< paths
  std::vector<std::string> found{};
  double iou = 0.5;
  std::optional<double> threshold{};
  std::vector<Class> classes{};  ///< of boxes
  std::optional<ClassificationScores> classification{};
  std::vector<std::string> notes{};  ///< what the figures leave out

  /// Of all classes together; absent if no class has tracks.
  std::optional<TrackingCounts> all_tracking() const;
  AveragePrecision mean_average_precision() const;
};

/// The point of the curve with the greatest F1; absent if the curve is empty.
std::optional<PrecisionRecallPoint> best_point(const std::vector<PrecisionRecallPoint>& curve);

/// The harmonic mean of precision and recall; 0 if both are 0.
double f1_of(const PrecisionRecallPoint& point);

/// Prints it as tables.
void print_report(const EvalReport& report, std::ostream& out);
/// Schema "vcap.evaluation/1" (docs/evaluation.md); figures without a value are left out.
nlohmann::json json_of_report(const EvalReport& report);
/// Writes the plots that the report has data for; returns their names. Throws OutputError.
std::vector<std::string> write_plots(const EvalReport& report, const std::string& folder);

}  // namespace vcap::cli
