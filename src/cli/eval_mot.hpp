// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/eval_scene.hpp"

namespace vcap::cli {

/// What the class numbers of MOT Challenge mean.
struct EvalMotClasses {
  std::int64_t counted = 1;  ///< pedestrian
  /// Person on vehicle, static person, distractor, reflection.
  std::vector<std::int64_t> distractors{2, 7, 8, 12};
};

/// By number of the frame, from 0.
using EvalMotFrames = std::map<std::int64_t, EvalFrame>;

/// Reads gt.txt: frame, id, left, top, width, height, whether it counts, and, in files of 8 or 9
/// columns, the class. Its objects get the name `name`. Throws InvalidArgument that names file and
/// line.
EvalMotFrames read_mot_truth(const std::string& path, const EvalMotClasses& classes,
                             const std::string& name);

/// Adds a file of results: frame, id, left, top, width, height and, if there is one, the
/// confidence. The id -1 means: no track. Throws like read_mot_truth().
void add_mot_results(const std::string& path, const std::string& name, EvalMotFrames& frames);

}  // namespace vcap::cli
