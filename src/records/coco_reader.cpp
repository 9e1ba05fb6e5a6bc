// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "records/coco_file.hpp"
#include "records/export_names.hpp"
#include "records/readers.hpp"
#include "records/track_numbers.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// Nodes below each other; capsules cannot give more (OutputPolicy).
constexpr int kDeepestPart = 64;

/// Frames of several streams, as the sink writes them, may have the same number.
std::vector<std::int64_t> frame_numbers(const CocoFile& coco, std::int64_t first) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < coco.images.size(); ++i) {
    const nlohmann::json& entry = coco.images[i].content;
    if (!entry.contains("stream_id") || !entry.contains("frame_index"))
      return coco_frame_numbers(coco, coco_rule_of_records(coco), first);
    const std::string place = "images[" + std::to_string(i) + "]";
    numbers.push_back(coco.input.integer(entry, "frame_index", place));
    if (numbers.back() < 0)
      coco.input.fail(place,
                      "\"frame_index\" is " + std::to_string(numbers.back()) + "; it must be >= 0");
  }
  return numbers;
}

/// A record for each image, in the order of the file.
class CocoReader final : public RecordReader {
 public:
  CocoReader(const std::string& path, std::int64_t first_frame)
      : coco_(read_coco_file(path, InputFile(path).read_json())),
        numbers_(frame_numbers(coco_, first_frame)),
        stream_(std::filesystem::path(path).stem().string()),
        of_image_(coco_.images.size()) {
    for (std::size_t i = 0; i < coco_.annotations.size(); ++i)
      of_image_[coco_.annotations[i].image].push_back(i);
  }

  std::optional<FrameRecord> read() override {
    if (next_ == coco_.images.size()) {
      if (std::exchange(left_out_, 0) > 0)
        log(LogLevel::warning, coco_.input.path() +
                                   ": masks and further polygons are left out; of these objects "
                                   "the first polygon or the box is read");
      return std::nullopt;
    }
    const std::size_t image = next_++;
    FrameRecord record = frame_of(image);
    record.objects = objects_of(image);
    return record;
  }

 private:
  FrameRecord frame_of(std::size_t image) {
    const std::string place = "images[" + std::to_string(image) + "]";
    const InputFile& input = coco_.input;
    const nlohmann::json& entry = coco_.images[image].content;
    FrameRecord record{
        .stream_id = input.optional_text(entry, "stream_id", place).value_or(stream_),
        .group = input.optional_integer(entry, "group", place),
        .resolution = {side(entry, "width", place), side(entry, "height", place)}};
    Frame& frame = record.frame;
    if (record.group && *record.group < 0)
      input.fail(place, "\"group\" is " + std::to_string(*record.group) + "; it must be >= 0");
    frame.index = numbers_[image];
    const auto pts = input.optional_integer(entry, "pts_ns", place);
    frame.pts = pts ? std::chrono::nanoseconds(*pts) : pts_of_frame(frame.index);
    if (const auto why = input.optional_text(entry, "discontinuity", place))
      frame.discontinuity = discontinuity_in(input, *why, place);
    frame.is_null = input.flag(entry, "null", place);
    // The sink makes a name up for a frame that has no file.
    const auto file = input.optional_text(entry, "source_file", place);
    frame.source_file = file ? *file
                        : entry.contains("frame_index") && entry.contains("stream_id")
                            ? std::string()
                            : coco_.images[image].file_name.value_or("");
    return record;
  }

  int side(const nlohmann::json& entry, const char* key, const std::string& place) const {
    const std::int64_t value = coco_.input.optional_integer(entry, key, place).value_or(0);
    if (value < 0 || value > std::numeric_limits<int>::max())
      coco_.input.fail(place, quote(key) + " is " + std::to_string(value) +
                                  "; it must be from 0 to " +
                                  std::to_string(std::numeric_limits<int>::max()));
    return static_cast<int>(value);
  }

  std::vector<DetectionNode> objects_of(std::size_t image) {
    std::map<std::int64_t, std::vector<std::size_t>> parts;  // by the id of what they belong to
    std::vector<std::size_t> roots;
    for (const std::size_t one : of_image_[image]) {
      const CocoFile::Annotation& annotation = coco_.annotations[one];
      (annotation.parent ? parts[*annotation.parent] : roots).push_back(one);
    }
    std::size_t placed = 0;
    std::vector<DetectionNode> nodes;
    nodes.reserve(roots.size());
    for (const std::size_t one : roots) nodes.push_back(node_of(one, parts, 1, placed));
    if (placed == of_image_[image].size()) return nodes;
    for (const auto& [parent, list] : parts)
      if (!list.empty())
        coco_.input.fail("annotations[" + std::to_string(list.front()) + "]",
                         "its parent_id " + std::to_string(parent) +
                             " leads to no annotation of the same image that stands by itself");
    return nodes;
  }

  /// Takes the parts of the node out of `parts`.
  DetectionNode node_of(std::size_t place, std::map<std::int64_t, std::vector<std::size_t>>& parts,
                        int level, std::size_t& placed) {
    const CocoFile::Annotation& annotation = coco_.annotations[place];
    if (level > kDeepestPart)
      coco_.input.fail(
          "annotations[" + std::to_string(place) + "]",
          "its parents are nested more than " + std::to_string(kDeepestPart) + " levels deep");
    ++placed;
    DetectionNode node{
        .name = coco_.categories.at(annotation.category).name,
        .coords = annotation.outline.empty() ? rect_to_coords(annotation.box) : annotation.outline,
        .attributes = annotation.attributes,
        .keypoints = annotation.keypoints};
    if (annotation.track) node.track_id = uuid_of_track(*annotation.track);
    if (annotation.score) node.extra_data["confidence"] = *annotation.score;
    if (annotation.is_crowd) node.extra_data["iscrowd"] = 1;
    if (annotation.is_ignored) node.extra_data["ignore"] = 1;
    if (annotation.has_more_outline) ++left_out_;
    if (!annotation.id) return node;
    const auto own = parts.find(*annotation.id);
    if (own == parts.end()) return node;
    const std::vector<std::size_t> list = std::move(own->second);
    parts.erase(own);
    for (const std::size_t one : list)
      node.children.push_back(node_of(one, parts, level + 1, placed));
    return node;
  }

  const CocoFile coco_;
  const std::vector<std::int64_t> numbers_;
  const std::string stream_;
  std::vector<std::vector<std::size_t>> of_image_;  ///< annotations
  std::size_t next_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace

std::unique_ptr<RecordReader> open_coco_records(const std::string& path, std::int64_t first_frame) {
  return std::make_unique<CocoReader>(path, first_frame);
}

}  // namespace vcap
