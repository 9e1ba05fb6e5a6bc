// SPDX-License-Identifier: Apache-2.0
#include "records/coco_file.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.hpp"

namespace vcap {
namespace {

using Json = nlohmann::json;

std::string coco_entry(const char* list, std::size_t place) {
  return std::string(list) + "[" + std::to_string(place) + "]";
}

double area_of_coco_box(const Json& entry) {
  return entry.at("bbox")[2].get<double>() * entry.at("bbox")[3].get<double>();
}

void read_categories(const Json& content, CocoFile& coco) {
  std::set<std::string> names;
  const InputFile& input = coco.input;
  const Json& list = input.array(content, "categories", "");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = coco_entry("categories", i);
    CocoFile::Category category{.name = input.text(list[i], "name", place)};
    const std::int64_t id = input.integer(list[i], "id", place);
    if (!names.insert(category.name).second)
      input.fail(place,
                 "the name " + quote(category.name) + " belongs to another category already");
    if (list[i].contains("keypoints"))
      for (const Json& name : input.array(list[i], "keypoints", place)) {
        if (!name.is_string()) input.fail(place, "\"keypoints\" must be a list of names");
        category.keypoints.push_back(name.get<std::string>());
      }
    if (!coco.categories.try_emplace(id, std::move(category)).second)
      input.fail(place, "the id " + std::to_string(id) + " belongs to another category already");
  }
}

void read_images(const Json& content, CocoFile& coco) {
  const InputFile& input = coco.input;
  const Json& list = input.array(content, "images", "");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = coco_entry("images", i);
    const std::int64_t id = input.integer(list[i], "id", place);
    if (!coco.places.try_emplace(id, i).second)
      input.fail(place, "the id " + std::to_string(id) + " belongs to another image already");
    coco.images.push_back({.id = id,
                           .file_name = input.optional_text(list[i], "file_name", place),
                           .content = list[i]});
  }
}

/// The first polygon, [x, y, x, y, …].
void read_outline(const InputFile& input, const Json& entry, const std::string& place,
                  CocoFile::Annotation& read) {
  const auto segmentation = entry.find("segmentation");
  if (segmentation == entry.end() || segmentation->empty()) return;
  if (!segmentation->is_array()) {
    read.has_more_outline = true;  // a mask, run-length encoded
    return;
  }
  read.has_more_outline = segmentation->size() > 1;
  const Json& polygon = segmentation->front();
  const bool is_polygon = polygon.is_array() && polygon.size() >= 6 && polygon.size() % 2 == 0 &&
                          std::ranges::all_of(polygon, &Json::is_number);
  if (!is_polygon)
    input.fail(place,
               "\"segmentation\" must be a list of polygons [x, y, x, y, x, y, …], or a mask");
  for (std::size_t i = 0; i < polygon.size(); i += 2)
    read.outline.emplace_back(input.finite(polygon[i].get<double>(), "segmentation", place),
                              input.finite(polygon[i + 1].get<double>(), "segmentation", place));
}

void read_attributes(const InputFile& input, const Json& entry, const std::string& place,
                     CocoFile::Annotation& read) {
  const auto attributes = entry.find("attributes");
  if (attributes == entry.end()) return;
  if (!attributes->is_object()) input.fail(place, "\"attributes\" is not an object");
  for (const auto& [category, value] : attributes->items())
    read.attributes[category] = value.is_string() ? value.get<std::string>() : value.dump();
}

/// [x, y, v] for each name of the category; v is 0 if the point is missing.
void read_keypoints(const CocoFile& coco, const Json& entry, const std::string& place,
                    CocoFile::Annotation& read) {
  const auto list = entry.find("keypoints");
  if (list == entry.end() || list->empty()) return;
  const std::vector<std::string>& names = coco.categories.at(read.category).keypoints;
  const InputFile& input = coco.input;
  if (!list->is_array() || list->size() % 3 != 0 || list->size() / 3 > names.size() ||
      !std::ranges::all_of(*list, &Json::is_number))
    input.fail(place, "\"keypoints\" must be [x, y, v] for each of the " +
                          counted(names.size(), "keypoint") + " of its category");
  for (std::size_t i = 0; i < list->size() / 3; ++i)
    if ((*list)[3 * i + 2] != 0)
      read.keypoints.push_back(
          {.name = names[i],
           .point = {input.finite((*list)[3 * i].get<double>(), "keypoints", place),
                     input.finite((*list)[3 * i + 1].get<double>(), "keypoints", place)}});
}

CocoFile::Annotation read_annotation(const CocoFile& coco, const Json& entry,
                                     const std::string& place) {
  const InputFile& input = coco.input;
  CocoFile::Annotation read{.image = coco.image_of(input, entry, place),
                            .category = coco.category_of(input, entry, place)};
  read.box = read_coco_box(input, entry, place);
  read.area = input.optional_number(entry, "area", place).value_or(area_of_coco_box(entry));
  if (read.area < 0)
    input.fail(place, "\"area\" is " + number_text(read.area) + "; it must be >= 0");
  read.is_crowd = input.flag(entry, "iscrowd", place);
  read.is_ignored = input.flag(entry, "ignore", place);
  read.track = input.optional_integer(entry, "track_id", place);
  read.id = input.optional_integer(entry, "id", place);
  read.score = input.optional_number(entry, "score", place);
  read.parent = input.optional_integer(entry, "parent_id", place);
  read_outline(input, entry, place, read);
  read_attributes(input, entry, place, read);
  read_keypoints(coco, entry, place, read);
  return read;
}

void read_annotations(const Json& content, CocoFile& coco) {
  std::vector<std::set<std::int64_t>> tracks(coco.images.size());
  const Json& list = coco.input.array(content, "annotations", "");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = coco_entry("annotations", i);
    CocoFile::Annotation read = read_annotation(coco, list[i], place);
    if (read.track && !tracks[read.image].insert(*read.track).second)
      coco.input.fail(place, "another object of the image has the track_id " +
                                 std::to_string(*read.track) + " already");
    coco.annotations.push_back(std::move(read));
  }
}

}  // namespace

std::size_t CocoFile::image_of(const InputFile& file, const Json& entry,
                               const std::string& place) const {
  const std::int64_t id = file.integer(entry, "image_id", place);
  const auto found = places.find(id);
  if (found == places.end())
    file.fail(place, "the image_id " + std::to_string(id) + " is not among the " +
                         counted(places.size(), "image") + " of the ground truth");
  return found->second;
}

std::int64_t CocoFile::category_of(const InputFile& file, const Json& entry,
                                   const std::string& place) const {
  const std::int64_t id = file.integer(entry, "category_id", place);
  if (!categories.contains(id))
    file.fail(place, "the category_id " + std::to_string(id) + " is not among the " +
                         std::to_string(categories.size()) + " categories of the ground truth");
  return id;
}

BoundingBox read_coco_box(const InputFile& input, const Json& entry, const std::string& place) {
  const Json& box = input.array(entry, "bbox", place);
  if (box.size() != 4 || !std::ranges::all_of(box, &Json::is_number))
    input.fail(place, "\"bbox\" is " + box.dump() + "; it must be [x, y, width, height]");
  return input.box(box[0].get<double>(), box[1].get<double>(), box[2].get<double>(),
                   box[3].get<double>(), place);
}

CocoFile read_coco_file(const std::string& path, const Json& content) {
  CocoFile coco{.input = InputFile(path)};
  read_categories(content, coco);
  read_images(content, coco);
  read_annotations(content, coco);
  return coco;
}

}  // namespace vcap
