// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_coco.hpp"

#include <set>

#include <nlohmann/json.hpp>

#include "records/input_file.hpp"

namespace vcap::cli {
namespace {

using Json = nlohmann::json;

void place_frames(EvalCoco& coco) {
  coco.frames.resize(coco.file.images.size());
  for (const auto& [id, image] : coco.file.places) {
    coco.frames[image] = coco.scene.frames.size();
    coco.scene.frames.push_back({.number = static_cast<std::int64_t>(coco.frames[image])});
  }
}

void take_annotations(EvalCoco& coco) {
  coco.scene.has_tracks = true;
  std::int64_t nameless = 0;
  for (const CocoFile::Annotation& one : coco.file.annotations) {
    EvalTruth truth{.name = coco.file.categories.at(one.category).name,
                    .box = {.box = one.box,
                            .area = one.area,
                            .is_crowd = one.is_crowd,
                            .is_ignored = one.is_ignored},
                    .track = one.track};
    if (one.is_crowd || one.is_ignored) {
      truth.role = TruthRole::distractor;
      if (!truth.track) truth.track = --nameless;
    } else if (!truth.track) {
      coco.scene.has_tracks = false;
    }
    coco.scene.frames[coco.frames[one.image]].truth.push_back(std::move(truth));
  }
}

}  // namespace

EvalCoco read_coco(const std::string& path, const Json& content) {
  EvalCoco coco{.file = read_coco_file(path, content)};
  for (const auto& [id, category] : coco.file.categories) coco.scene.names.push_back(category.name);
  place_frames(coco);
  take_annotations(coco);
  return coco;
}

void number_frames(CocoFramesBy rule, std::int64_t first, EvalCoco& coco) {
  const std::vector<std::int64_t> numbers = coco_frame_numbers(coco.file, rule, first);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    coco.scene.frames[coco.frames[i]].number = numbers[i];
}

void add_coco_results(const std::string& path, EvalCoco& coco) {
  const InputFile input(path);
  const Json content = input.read_json();
  if (!content.is_array())
    input.fail("",
               "results in COCO's format are a list of {\"image_id\", \"category_id\", \"bbox\", "
               "\"score\"}");
  std::vector<std::set<std::int64_t>> tracks(coco.scene.frames.size());
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string place = "entry " + std::to_string(i);
    const Json& entry = content[i];
    const std::size_t frame = coco.frames[coco.file.image_of(input, entry, place)];
    EvalFound found{.name =
                        coco.file.categories.at(coco.file.category_of(input, entry, place)).name};
    found.box.box = read_coco_box(input, entry, place);
    found.box.area = entry.at("bbox")[2].get<double>() * entry.at("bbox")[3].get<double>();
    found.box.score = input.number(entry, "score", place);
    found.track = input.optional_integer(entry, "track_id", place);
    if (found.track && !tracks[frame].insert(*found.track).second)
      input.fail(place, "another object of the image has the track_id " +
                            std::to_string(*found.track) + " already");
    coco.scene.frames[frame].found.push_back(std::move(found));
  }
}

}  // namespace vcap::cli
