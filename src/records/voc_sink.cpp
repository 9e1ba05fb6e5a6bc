// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/staged_folder.hpp"
#include "records/export_names.hpp"
#include "records/export_sink.hpp"
#include "vcap/records/export_sinks.hpp"

namespace vcap {
namespace {

std::string element(const char* name, const std::string& text) {
  return std::string("<") + name + ">" + xml_text(text) + "</" + name + ">\n";
}
std::string element(const char* name, int value) { return element(name, std::to_string(value)); }

/// Pixels that count from 1, both ends included.
struct VocBox {
  int xmin = 0, ymin = 0, xmax = 0, ymax = 0;
  bool is_cut = false;
};

/// The pixels that the box touches within the frame; `nullopt` if there are none.
std::optional<VocBox> voc_box(const BoundingBox& box, cv::Size size) {
  if (!(std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) &&
        std::isfinite(box.y2)))
    return std::nullopt;
  const double x1 = std::max(std::floor(box.x1), 0.0);
  const double y1 = std::max(std::floor(box.y1), 0.0);
  const double x2 = std::min<double>(std::ceil(box.x2), size.width);
  const double y2 = std::min<double>(std::ceil(box.y2), size.height);
  if (!(x1 < x2) || !(y1 < y2)) return std::nullopt;
  return VocBox{static_cast<int>(x1) + 1, static_cast<int>(y1) + 1, static_cast<int>(x2),
                static_cast<int>(y2),
                box.x1 < 0 || box.y1 < 0 || box.x2 > size.width || box.y2 > size.height};
}

/// Evaluations leave difficult objects out.
bool is_ignored(const DetectionNode& node) {
  const auto flag = node.extra_data->find("ignore");
  return flag != node.extra_data->end() && *flag == 1;
}

class VocSink final : public ExportSink {
 public:
  explicit VocSink(const std::string& path)
      : ExportSink(path, kVocHolds), folder_(path, StagedFolder::Sync::at_commit) {}

 private:
  void add(const FrameRecord& record) override {
    const cv::Size size =
        record.frame.image.empty() ? record.resolution : record.frame.image.size();
    const std::string name = names_.name(record);
    std::string text = "<annotation>\n";
    text += element("folder", record.stream_id);
    text += element("filename",
                    record.frame.source_file.empty() ? name + ".jpg" : record.frame.source_file);
    text += "<size>\n" + element("width", size.width) + element("height", size.height) +
            element("depth", 3) + "</size>\n" + element("segmented", 0);
    for (const DetectionNode& node : record.objects) add_node(node, size, text);
    text += "</annotation>\n";
    folder_.write(free_name(folder_, "Annotations/", name, ".xml"),
                  std::as_bytes(std::span(text.data(), text.size())));
  }

  void complete() override { folder_.commit(); }

  void add_node(const DetectionNode& node, cv::Size size, std::string& text) {
    if (!node.coords.empty()) {
      if (const auto box = voc_box(node.bbox(), size))
        add_object(node, *box, text);
      else
        losses().add("objects without a pixel in the frame");
    }
    for (const DetectionNode& child : node.children) add_node(child, size, text);
  }

  static void add_object(const DetectionNode& node, const VocBox& box, std::string& text) {
    text += "<object>\n" + element("name", node.name) + element("pose", "Unspecified") +
            element("truncated", static_cast<int>(box.is_cut)) +
            element("difficult", static_cast<int>(is_ignored(node)));
    text += "<bndbox>\n" + element("xmin", box.xmin) + element("ymin", box.ymin) +
            element("xmax", box.xmax) + element("ymax", box.ymax) + "</bndbox>\n";
    if (!node.attributes.empty()) {
      text += "<attributes>\n";
      for (const auto& [category, value] : node.attributes)
        text += "<attribute>\n" + element("name", category) + element("value", value) +
                "</attribute>\n";
      text += "</attributes>\n";
    }
    text += "</object>\n";
  }

  StagedFolder folder_;
  FrameNames names_;
};

}  // namespace

std::unique_ptr<Sink> make_voc_sink(const std::string& path) {
  return std::make_unique<VocSink>(path);
}

}  // namespace vcap
