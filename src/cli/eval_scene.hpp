// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vcap/algorithms/detection_evaluation.hpp"
#include "vcap/algorithms/tracking_evaluation.hpp"

namespace vcap::cli {

/// An object of the ground truth.
struct EvalTruth {
  std::string name{};
  TruthBox box{};
  std::optional<std::int64_t> track{};
  TruthRole role = TruthRole::counted;
};

/// An object that was found.
struct EvalFound {
  std::string name{};
  ScoredBox box{};
  std::optional<std::int64_t> track{};
  std::map<std::string, std::string> attributes{};
};

/// A frame or an image.
struct EvalFrame {
  /// As in records, from 0; the index in the list if images have no number.
  std::int64_t number = 0;
  bool is_recorded = true;  ///< whether the results contain it
  std::vector<EvalTruth> truth{};
  std::vector<EvalFound> found{};
};

/// What is compared: one sequence of frames, or a set of images.
struct EvalScene {
  std::vector<EvalFrame> frames{};
  std::vector<std::string> names{};  ///< of the objects of the ground truth, in its order
  bool has_tracks = false;           ///< whether all objects that count have one
};

}  // namespace vcap::cli
