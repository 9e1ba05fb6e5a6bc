// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// All that `vcap eval` has to say.
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
  std::vector<std::string> notes{};  ///< what the figures do not tell

  /// Of all classes together; absent where none has tracks.
  std::optional<TrackingCounts> all_tracking() const;
  AveragePrecision mean_average_precision() const;
};

/// The point of the curve whose F1 is the greatest; absent where there is none.
std::optional<PrecisionRecallPoint> best_point(const std::vector<PrecisionRecallPoint>& curve);

/// As tables.
void print_report(const EvalReport& report, std::ostream& out);
/// Schema "vcap.evaluation/1" (docs/evaluation.md); figures without a value are left out.
nlohmann::json json_of_report(const EvalReport& report);
/// Writes the plots that the report has something for; gives their names. Throws OutputError.
std::vector<std::string> write_plots(const EvalReport& report, const std::string& folder);

}  // namespace vcap::cli
