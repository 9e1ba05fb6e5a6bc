// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/eval_coco.hpp"
#include "cli/eval_mot.hpp"

namespace vcap::cli {

/// A class of the ground truth, and its name in records.
struct EvalName {
  std::string found;
  std::string truth;
};

/// The values of --name, "NAME[=CATEGORY]". Throws UsageError if one is empty, or a category is
/// given twice.
std::vector<EvalName> read_names(const std::vector<std::string>& names);

/// What `vcap eval` compares, and how.
struct EvalArguments {
  std::vector<std::string> records;
  std::vector<std::string> results;
  std::vector<std::string> ground_truth;
  std::string format;              ///< empty: chosen by the file
  std::vector<std::string> names;  ///< as given: NAME[=CATEGORY]
  std::optional<std::string> stream;
  std::optional<std::int64_t> group;
  double iou = 0.5;
  std::optional<double> threshold;
  CocoFramesBy frames_by = CocoFramesBy::automatic;
  std::int64_t first_frame = 0;
  EvalMotClasses mot_classes;
  std::optional<std::string> attribute;
  std::string json;
  std::string plots;

  /// This object must live as long as the command.
  void add_to(CLI::App& command);
  /// Checks what CLI11 cannot check by itself. Throws CLI::ParseError.
  void check() const;

  bool uses_records() const { return !records.empty(); }
  /// The paths of the records, or of the results.
  const std::vector<std::string>& found() const { return uses_records() ? records : results; }
};

}  // namespace vcap::cli
