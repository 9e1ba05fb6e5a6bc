// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "files/output_file.hpp"
#include "records/export_names.hpp"
#include "records/export_sink.hpp"
#include "records/outline.hpp"
#include "records/spool.hpp"
#include "records/track_numbers.hpp"
#include "vcap/records/export_sinks.hpp"

namespace vcap {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string coco_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// Images go to the file as they come; annotations, which must stand behind all images, wait on the
/// disk.
class CocoSink final : public ExportSink {
 public:
  explicit CocoSink(const std::string& path)
      : ExportSink(path, kCocoHolds),
        file_(path),
        annotations_(path == "-" ? std::filesystem::temp_directory_path()
                                 : std::filesystem::path(path).parent_path()) {
    file_.write("{\"info\":{\"description\":\"vcap\"},\n\"images\":[");
  }

 private:
  void add(const FrameRecord& record) override {
    const std::int64_t image = images_ + 1;
    std::string text;
    std::int64_t id = ids_;
    for (const DetectionNode& node : record.objects)
      add_node(record, node, image, std::nullopt, id, text);
    const std::int64_t before = annotations_.size();
    annotations_.write(text);
    try {
      file_.write((images_ == 0 ? "\n" : ",\n") + coco_text(image_of(record, image)));
    } catch (...) {
      annotations_.cut(before);
      throw;
    }
    images_ = image;
    ids_ = id;
  }

  void complete() override {
    file_.write("],\n\"annotations\":[");
    annotations_.read([this](std::span<const std::byte> block) { file_.write(block); });
    file_.write("],\n\"categories\":" + coco_text(categories()) + "}\n");
    file_.commit();
  }

  OrderedJson image_of(const FrameRecord& record, std::int64_t id) {
    const Frame& frame = record.frame;
    OrderedJson image{{"id", id}};
    image["file_name"] =
        frame.source_file.empty() ? names_.name(record) + ".jpg" : frame.source_file;
    const cv::Size size = frame.image.empty() ? record.resolution : frame.image.size();
    image["width"] = size.width;
    image["height"] = size.height;
    image["frame_index"] = frame.index;
    image["stream_id"] = record.stream_id;
    if (record.group) image["group"] = *record.group;
    image["pts_ns"] = frame.pts.count();
    if (frame.discontinuity != Discontinuity::none)
      image["discontinuity"] = to_string(frame.discontinuity);
    if (frame.is_null) image["null"] = true;
    if (!frame.source_file.empty()) image["source_file"] = frame.source_file;
    return image;
  }

  /// Appends the node and its children.
  void add_node(const FrameRecord& record, const DetectionNode& node, std::int64_t image,
                std::optional<std::int64_t> parent, std::int64_t& id, std::string& text) {
    if (!node.coords.empty() && is_finite(node.coords)) {
      OrderedJson annotation{{"id", ++id}, {"image_id", image}};
      annotation["category_id"] = category(node);
      fill(record, node, annotation);
      if (parent) annotation["parent_id"] = *parent;
      text += (id == 1 ? "\n" : ",\n") + coco_text(annotation);
      parent = id;
    } else if (!node.coords.empty()) {
      losses().add("objects whose outline is not finite");
    }
    for (const DetectionNode& child : node.children)
      add_node(record, child, image, parent, id, text);
  }

  void fill(const FrameRecord& record, const DetectionNode& node, OrderedJson& annotation) {
    const cv::Vec4d box = node.bbox().xywh();
    annotation["bbox"] = {box[0], box[1], box[2], box[3]};
    const bool is_polygon = node.coords.size() >= 3;
    annotation["area"] = outline_area(node.coords);
    annotation["iscrowd"] = static_cast<int>(has_flag(node, "iscrowd"));
    if (has_flag(node, "ignore")) annotation["ignore"] = 1;
    annotation["segmentation"] = OrderedJson::array();
    if (is_polygon) {
      OrderedJson& polygon = annotation["segmentation"].emplace_back(OrderedJson::array());
      for (const cv::Point2d& point : node.coords) {
        polygon.push_back(point.x);
        polygon.push_back(point.y);
      }
    }
    if (const auto score = node.confidence(); score && std::isfinite(*score))
      annotation["score"] = *score;
    if (node.track_id) annotation["track_id"] = tracks_.number(record.stream_id, *node.track_id);
    if (!node.attributes.empty()) annotation["attributes"] = node.attributes;
    if (!node.keypoints.empty()) add_keypoints(node, annotation);
  }

  /// [x, y, v] for each name that the category has so far.
  void add_keypoints(const DetectionNode& node, OrderedJson& annotation) {
    std::vector<std::string>& names = categories_[node.name].keypoints;
    std::vector<double> values(names.size() * 3);
    for (const Keypoint& one : node.keypoints) {
      if (!std::isfinite(one.point.x) || !std::isfinite(one.point.y)) continue;  // not labelled
      const auto place =
          static_cast<std::size_t>(std::ranges::find(names, one.name) - names.begin());
      if (place == names.size()) {
        names.push_back(one.name);
        values.resize(names.size() * 3);
      }
      values[3 * place] = one.point.x;
      values[3 * place + 1] = one.point.y;
      values[3 * place + 2] = 2;  // labelled and visible
    }
    annotation["keypoints"] = values;
    annotation["num_keypoints"] = node.keypoints.size();
  }

  std::int64_t category(const DetectionNode& node) {
    const auto [place, is_new] = categories_.try_emplace(node.name);
    if (is_new) place->second.id = static_cast<std::int64_t>(categories_.size());
    return place->second.id;
  }

  OrderedJson categories() const {
    std::vector<OrderedJson> list(categories_.size());
    for (const auto& [name, category] : categories_) {
      OrderedJson& entry = list[static_cast<std::size_t>(category.id - 1)];
      entry = {{"id", category.id}, {"name", name}, {"supercategory", ""}};
      if (category.keypoints.empty()) continue;
      entry["keypoints"] = category.keypoints;
      entry["skeleton"] = OrderedJson::array();
    }
    return list;
  }

  static bool has_flag(const DetectionNode& node, const char* key) {
    if (!node.extra_data.is_object()) return false;
    const auto flag = node.extra_data->find(key);
    return flag != node.extra_data->end() && *flag == 1;
  }

  static bool is_finite(const Coords& coords) {
    return std::ranges::all_of(coords, [](const cv::Point2d& point) {
      return std::isfinite(point.x) && std::isfinite(point.y);
    });
  }

  struct Category {
    std::int64_t id = 0;
    std::vector<std::string> keypoints{};
  };

  OutputFile file_;
  Spool annotations_;
  std::map<std::string, Category> categories_;  ///< ids from 1 in the order of their appearance
  FrameNames names_;
  TrackNumbers tracks_;
  std::int64_t images_ = 0;
  std::int64_t ids_ = 0;  ///< of annotations
};

}  // namespace

std::unique_ptr<Sink> make_coco_sink(const std::string& path) {
  return std::make_unique<CocoSink>(path);
}

}  // namespace vcap
