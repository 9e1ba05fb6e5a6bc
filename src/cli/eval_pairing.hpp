// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/eval_arguments.hpp"
#include "cli/eval_scene.hpp"
#include "vcap/algorithms/classification_evaluation.hpp"

namespace vcap::cli {

/// Ground truth and what was found, paired by frames or by files.
struct EvalPairing {
  std::vector<EvalScene> scenes{};          ///< of COCO and MOT: one for each file of ground truth
  std::vector<std::string> categories{};    ///< of the ground truth, each once
  std::vector<ClassifiedSample> samples{};  ///< of labels
  bool is_labels = false;
  bool is_mot = false;
  std::vector<std::string> notes{};  ///< what was left out
};

/// Reads all files that the command line names. Throws UsageError if they do not belong together,
/// SourceError if one cannot be read, InvalidArgument with file and place if one is invalid.
EvalPairing pair_files(const EvalArguments& arguments, const std::vector<EvalName>& names);

}  // namespace vcap::cli
