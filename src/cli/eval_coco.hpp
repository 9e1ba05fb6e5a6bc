// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/eval_scene.hpp"

namespace vcap::cli {

/// Which field of a COCO image gives the number of its frame.
enum class EvalFramesBy { automatic, field, file_name, id, order };

/// The ground truth of a file of COCO's form, with its images and categories by id.
struct EvalCoco {
  EvalScene scene{};                             ///< frames by rising image id
  std::map<std::int64_t, std::size_t> places{};  ///< of images, by id
  std::map<std::int64_t, std::string> categories{};
};

/// Reads "images", "annotations" and "categories". Throws InvalidArgument that names file and
/// entry.
EvalCoco read_coco(const std::string& path, const nlohmann::json& content);

/// Gives each frame its number by the rule, minus `first`; throws InvalidArgument if two have the
/// same number, or one is below 0.
void number_frames(const std::string& path, const nlohmann::json& content, EvalFramesBy rule,
                   std::int64_t first, EvalCoco& coco);

/// Adds the detections of a file of COCO's results. Throws like read_coco().
void add_coco_results(const std::string& path, EvalCoco& coco);

}  // namespace vcap::cli
