// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "files/file_list.hpp"
#include "records/coco_file.hpp"

namespace vcap {
namespace {

std::string coco_image_entry(std::size_t place) { return "images[" + std::to_string(place) + "]"; }

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

std::optional<std::int64_t> number_of(const CocoFile& coco, std::size_t image, CocoFramesBy rule) {
  const CocoFile::Image& entry = coco.images[image];
  if (rule == CocoFramesBy::field)
    return coco.input.optional_integer(entry.content, "frame_index", coco_image_entry(image));
  if (rule == CocoFramesBy::id) return entry.id;
  return entry.file_name ? number_in_name(*entry.file_name) : std::nullopt;
}

/// The first rule that gives each image a number.
CocoFramesBy rule_for(const CocoFile& coco) {
  for (const CocoFramesBy rule : {CocoFramesBy::field, CocoFramesBy::file_name}) {
    std::size_t numbered = 0;
    for (std::size_t i = 0; i < coco.images.size(); ++i)
      if (number_of(coco, i, rule)) ++numbered;
    if (numbered == coco.images.size()) return rule;
  }
  return CocoFramesBy::id;
}

std::vector<std::int64_t> numbers_by_order(const CocoFile& coco) {
  std::vector<std::pair<std::string, std::size_t>> names;
  for (std::size_t i = 0; i < coco.images.size(); ++i)
    names.emplace_back(coco.input.text(coco.images[i].content, "file_name", coco_image_entry(i)),
                       i);
  std::ranges::sort(names,
                    [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
  std::vector<std::int64_t> numbers(names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    numbers[names[i].second] = static_cast<std::int64_t>(i);
  return numbers;
}

}  // namespace

CocoFramesBy coco_rule_of_records(const CocoFile& coco) {
  const CocoFramesBy rule = rule_for(coco);
  if (rule != CocoFramesBy::file_name) return rule;
  std::set<std::int64_t> numbers;
  for (std::size_t i = 0; i < coco.images.size(); ++i)
    if (!numbers.insert(number_of(coco, i, rule).value_or(-1)).second) return CocoFramesBy::order;
  return rule;
}

std::vector<std::int64_t> coco_frame_numbers(const CocoFile& coco, CocoFramesBy rule,
                                             std::int64_t first) {
  if (rule == CocoFramesBy::order) return numbers_by_order(coco);
  if (rule == CocoFramesBy::automatic) rule = rule_for(coco);
  if (rule == CocoFramesBy::field) first = 0;  // it is the number in the records
  std::map<std::int64_t, std::size_t> taken;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < coco.images.size(); ++i) {
    const std::string place = coco_image_entry(i);
    const auto number = number_of(coco, i, rule);
    if (!number)
      coco.input.fail(place, rule == CocoFramesBy::field
                                 ? "\"frame_index\" is missing; give it, or choose another "
                                   "--frames-by"
                                 : "its \"file_name\" has no frame number; choose another "
                                   "--frames-by");
    if (*number < first)
      coco.input.fail(place, "its number is " + std::to_string(*number) +
                                 ", below that of the first frame, " + std::to_string(first) +
                                 "; set --first-frame");
    const auto [other, is_new] = taken.try_emplace(*number, i);
    if (!is_new)
      coco.input.fail(place, "its frame number " + std::to_string(*number) + " is also that of " +
                                 coco_image_entry(other->second) +
                                 "; choose another --frames-by, such as order");
    numbers.push_back(*number - first);
  }
  return numbers;
}

}  // namespace vcap
