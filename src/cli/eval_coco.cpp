// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_coco.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/eval_input.hpp"
#include "sources/file_list.hpp"

namespace vcap::cli {
namespace {

using Json = nlohmann::json;

std::string entry_of(const char* list, std::size_t place) {
  return std::string(list) + "[" + std::to_string(place) + "]";
}

/// "bbox": [x, y, width, height].
BoundingBox read_coco_box(const EvalInput& input, const Json& entry, const std::string& place) {
  const Json& box = input.array(entry, "bbox", place);
  if (box.size() != 4 || !std::ranges::all_of(box, &Json::is_number))
    input.fail(place, "\"bbox\" is " + box.dump() + "; it must be [x, y, width, height]");
  return input.box(box[0].get<double>(), box[1].get<double>(), box[2].get<double>(),
                   box[3].get<double>(), place);
}

double area_of_coco_box(const Json& entry) {
  return entry.at("bbox")[2].get<double>() * entry.at("bbox")[3].get<double>();
}

std::size_t image_of(const EvalInput& input, const Json& entry, const std::string& place,
                     const EvalCoco& coco) {
  const std::int64_t id = input.integer(entry, "image_id", place);
  const auto found = coco.places.find(id);
  if (found == coco.places.end())
    input.fail(place, "the image_id " + std::to_string(id) + " is not among the " +
                          std::to_string(coco.places.size()) + " images of the ground truth");
  return found->second;
}

const std::string& category_of(const EvalInput& input, const Json& entry, const std::string& place,
                               const EvalCoco& coco) {
  const std::int64_t id = input.integer(entry, "category_id", place);
  const auto found = coco.categories.find(id);
  if (found == coco.categories.end())
    input.fail(place, "the category_id " + std::to_string(id) + " is not among the " +
                          std::to_string(coco.categories.size()) +
                          " categories of the ground truth");
  return found->second;
}

void read_categories(const EvalInput& input, const Json& content, EvalCoco& coco) {
  std::set<std::string> names;
  const Json& list = input.array(content, "categories", "");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = entry_of("categories", i);
    const std::string name = input.text(list[i], "name", place);
    const std::int64_t id = input.integer(list[i], "id", place);
    if (!coco.categories.try_emplace(id, name).second)
      input.fail(place, "the id " + std::to_string(id) + " belongs to another category already");
    if (!names.insert(name).second)
      input.fail(place, "the name " + quote(name) + " belongs to another category already");
  }
  for (const auto& [id, name] : coco.categories) coco.scene.names.push_back(name);
}

void read_images(const EvalInput& input, const Json& content, EvalCoco& coco) {
  const Json& list = input.array(content, "images", "");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = entry_of("images", i);
    const std::int64_t id = input.integer(list[i], "id", place);
    if (!coco.places.try_emplace(id, 0).second)
      input.fail(place, "the id " + std::to_string(id) + " belongs to another image already");
  }
  for (auto& [id, place] : coco.places) {
    place = coco.scene.frames.size();
    coco.scene.frames.push_back({.number = static_cast<std::int64_t>(place)});
  }
}

void read_annotations(const EvalInput& input, const Json& content, EvalCoco& coco) {
  coco.scene.has_tracks = true;
  std::vector<std::set<std::int64_t>> tracks(coco.scene.frames.size());
  std::int64_t nameless = 0;
  const Json& list = input.array(content, "annotations", "");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = entry_of("annotations", i);
    const std::size_t image = image_of(input, list[i], place, coco);
    EvalTruth truth{.name = category_of(input, list[i], place, coco)};
    truth.box.box = read_coco_box(input, list[i], place);
    truth.box.area =
        input.optional_number(list[i], "area", place).value_or(area_of_coco_box(list[i]));
    if (*truth.box.area < 0)
      input.fail(place, "\"area\" is " + number_text(*truth.box.area) + "; it must be >= 0");
    truth.box.is_crowd = input.flag(list[i], "iscrowd", place);
    truth.box.is_ignored = input.flag(list[i], "ignore", place);
    truth.track = input.optional_integer(list[i], "track_id", place);
    if (truth.box.is_crowd || truth.box.is_ignored) {
      truth.role = TruthRole::distractor;
      if (!truth.track) truth.track = --nameless;
    } else if (!truth.track) {
      coco.scene.has_tracks = false;
    }
    if (truth.track && !tracks[image].insert(*truth.track).second)
      input.fail(place, "another object of the image has the track_id " +
                            std::to_string(*truth.track) + " already");
    coco.scene.frames[image].truth.push_back(std::move(truth));
  }
}

/// The last number in the file's name, without folder and extension.
std::optional<std::int64_t> number_in_name(const std::string& file_name) {
  std::string_view name = file_name;
  name.remove_prefix(name.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  constexpr std::string_view digits = "0123456789";
  const std::size_t last = name.find_last_of(digits);
  if (last == std::string_view::npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of(digits, last);
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(name.data() + first, name.data() + last + 1, number);
  if (failed != std::errc()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> number_of(const EvalInput& input, const Json& image,
                                      const std::string& place, EvalFramesBy rule) {
  if (rule == EvalFramesBy::field) return input.optional_integer(image, "frame_index", place);
  if (rule == EvalFramesBy::id) return input.integer(image, "id", place);
  const auto name = input.optional_text(image, "file_name", place);
  return name ? number_in_name(*name) : std::nullopt;
}

/// The first rule that gives each image a number.
EvalFramesBy rule_for(const EvalInput& input, const Json& images) {
  for (const EvalFramesBy rule : {EvalFramesBy::field, EvalFramesBy::file_name}) {
    std::size_t numbered = 0;
    for (std::size_t i = 0; i < images.size(); ++i)
      if (number_of(input, images[i], entry_of("images", i), rule)) ++numbered;
    if (numbered == images.size()) return rule;
  }
  return EvalFramesBy::id;
}

void number_by_order(const EvalInput& input, const Json& images, EvalCoco& coco) {
  std::vector<std::pair<std::string, std::size_t>> names;
  for (std::size_t i = 0; i < images.size(); ++i)
    names.emplace_back(input.text(images[i], "file_name", entry_of("images", i)),
                       coco.places.at(images[i].at("id").get<std::int64_t>()));
  std::ranges::sort(names,
                    [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
  for (std::size_t i = 0; i < names.size(); ++i)
    coco.scene.frames[names[i].second].number = static_cast<std::int64_t>(i);
}

}  // namespace

EvalCoco read_coco(const std::string& path, const Json& content) {
  const EvalInput input(path);
  EvalCoco coco;
  read_categories(input, content, coco);
  read_images(input, content, coco);
  read_annotations(input, content, coco);
  return coco;
}

void number_frames(const std::string& path, const Json& content, EvalFramesBy rule,
                   std::int64_t first, EvalCoco& coco) {
  const EvalInput input(path);
  const Json& images = content.at("images");
  if (rule == EvalFramesBy::order) return number_by_order(input, images, coco);
  if (rule == EvalFramesBy::automatic) rule = rule_for(input, images);
  if (rule == EvalFramesBy::field) first = 0;  // it is the number in the records
  std::map<std::int64_t, std::size_t> taken;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::string place = entry_of("images", i);
    const auto number = number_of(input, images[i], place, rule);
    if (!number)
      input.fail(place, rule == EvalFramesBy::field
                            ? "\"frame_index\" is missing; give it, or choose another --frames-by"
                            : "its \"file_name\" has no frame number; choose another "
                              "--frames-by");
    if (*number < first)
      input.fail(place, "its number is " + std::to_string(*number) +
                            ", below that of the first frame, " + std::to_string(first) +
                            "; set --first-frame");
    const auto [other, is_new] = taken.try_emplace(*number, i);
    if (!is_new)
      input.fail(place, "its frame number " + std::to_string(*number) + " is also that of " +
                            entry_of("images", other->second) +
                            "; choose another --frames-by, such as order");
    coco.scene.frames[coco.places.at(images[i].at("id").get<std::int64_t>())].number =
        *number - first;
  }
}

void add_coco_results(const std::string& path, EvalCoco& coco) {
  const EvalInput input(path);
  const Json content = input.read_json();
  if (!content.is_array())
    input.fail("",
               "results in COCO's format are a list of {\"image_id\", \"category_id\", \"bbox\", "
               "\"score\"}");
  std::vector<std::set<std::int64_t>> tracks(coco.scene.frames.size());
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string place = "entry " + std::to_string(i);
    const Json& entry = content[i];
    const std::size_t image = image_of(input, entry, place, coco);
    EvalFound found{.name = category_of(input, entry, place, coco)};
    found.box.box = read_coco_box(input, entry, place);
    found.box.area = area_of_coco_box(entry);
    found.box.score = input.number(entry, "score", place);
    found.track = input.optional_integer(entry, "track_id", place);
    if (found.track && !tracks[image].insert(*found.track).second)
      input.fail(place, "another object of the image has the track_id " +
                            std::to_string(*found.track) + " already");
    coco.scene.frames[image].found.push_back(std::move(found));
  }
}

}  // namespace vcap::cli
