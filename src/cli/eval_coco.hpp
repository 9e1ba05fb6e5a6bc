// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/eval_scene.hpp"
#include "records/coco_file.hpp"

namespace vcap::cli {

/// The ground truth of a file of COCO's form.
struct EvalCoco {
  EvalScene scene{};  ///< frames by rising image id
  CocoFile file;
  std::vector<std::size_t> frames{};  ///< of each image, its place in the scene
};

/// Throws InvalidArgument that names file and entry.
EvalCoco read_coco(const std::string& path, const nlohmann::json& content);

/// Gives each frame its number by the rule, minus `first`. Throws like coco_frame_numbers().
void number_frames(CocoFramesBy rule, std::int64_t first, EvalCoco& coco);

/// Adds the detections of a file of COCO's results. Throws like read_coco().
void add_coco_results(const std::string& path, EvalCoco& coco);

}  // namespace vcap::cli
