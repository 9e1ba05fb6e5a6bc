// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/staged_folder.hpp"
#include "records/csv.hpp"
#include "records/export_names.hpp"
#include "records/export_sink.hpp"
#include "records/frame_table.hpp"
#include "records/spool.hpp"
#include "vcap/records/export_sinks.hpp"

namespace vcap {
namespace {

/// Characters that YAML 1.2 takes for line ends or does not allow (section 5.1), and that JSON does
/// not escape: DEL, U+0080 to U+009F, U+2028, U+2029, U+FEFF, U+FFFE and U+FFFF. Gives the size of
/// the one at the beginning of the text, and its escape; 0 if there is none.
std::size_t special_in_yaml(std::string_view text, std::string& escape) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kSpecial{
      {{"\x7f", "\\u007f"},
       {"\xe2\x80\xa8", "\\u2028"},
       {"\xe2\x80\xa9", "\\u2029"},
       {"\xef\xbb\xbf", "\\ufeff"},
       {"\xef\xbf\xbe", "\\ufffe"},
       {"\xef\xbf\xbf", "\\uffff"}}};
  for (const auto& [bytes, written] : kSpecial)
    if (text.starts_with(bytes)) {
      escape = written;
      return bytes.size();
    }
  if (text.size() < 2 || text[0] != '\xc2' || static_cast<unsigned char>(text[1]) >= 0xa0) return 0;
  char code[8];
  std::snprintf(code, sizeof code, "\\u%04x",
                static_cast<unsigned>(static_cast<unsigned char>(text[1])));
  escape = code;
  return 2;
}

/// A scalar of YAML in double quotes: JSON's form, with more escapes.
std::string yaml_text(const std::string& text) {
  const std::string json =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string escaped;
  std::string escape;
  for (std::string_view left = json; !left.empty();) {
    const std::size_t size = special_in_yaml(left, escape);
    escaped += size > 0 ? escape : std::string(1, left.front());
    left.remove_prefix(size > 0 ? size : 1);
  }
  return escaped;
}

HeldFields yolo_holds(const YoloExport& how) {
  HeldFields held = kYoloHolds;
  held.outlines = how.polygons;
  held.confidence = how.confidences;
  return held;
}

class YoloSink final : public ExportSink {
 public:
  YoloSink(const std::string& path, const YoloExport& how)
      : ExportSink(path, yolo_holds(how)),
        how_(how),
        folder_(path, StagedFolder::Sync::at_commit),
        frames_(folder_.target().parent_path()) {
    std::string header = "file";
    for (const std::string& name : kFrameColumns) header += ',' + name;
    frames_.write(header + '\n');
  }

 private:
  void add(const FrameRecord& record) override {
    const cv::Size size =
        record.frame.image.empty() ? record.resolution : record.frame.image.size();
    std::string text;
    for (const DetectionNode& node : record.objects) add_node(node, size, text);
    const std::string file = free_name(folder_, "labels/", names_.name(record), ".txt");
    const std::int64_t before = frames_.size();
    frames_.write(csv_field(file) + ',' + frame_fields(record) + '\n');
    try {
      write_file(file, text);
    } catch (...) {
      frames_.cut(before);
      throw;
    }
  }

  void complete() override {
    folder_.write_blocks("frames.csv",
                         [this](const StagedFolder::Take& take) { frames_.read(take); });
    std::string yaml = "path: .\ntrain: images\nval: images\nnames:";
    if (classes_.empty()) yaml += " {}";
    yaml += '\n';
    for (std::size_t i = 0; i < classes_.size(); ++i)
      yaml += "  " + std::to_string(i) + ": " + yaml_text(classes_[i]) + '\n';
    write_file("data.yaml", yaml);
    folder_.commit();
  }

  void write_file(std::string_view name, const std::string& text) {
    folder_.write(name, std::as_bytes(std::span(text.data(), text.size())));
  }

  void add_node(const DetectionNode& node, cv::Size size, std::string& text) {
    if (!node.coords.empty()) add_line(node, size, text);
    for (const DetectionNode& child : node.children) add_node(child, size, text);
  }

  void add_line(const DetectionNode& node, cv::Size size, std::string& text) {
    if (size.empty()) return losses().add("objects of frames without a size");
    Coords coords = node.coords;
    if (!std::ranges::all_of(coords, [](const cv::Point2d& point) {
          return std::isfinite(point.x) && std::isfinite(point.y);
        }))
      return losses().add("objects whose outline is not finite");
    for (cv::Point2d& point : coords)
      point = {std::clamp<double>(point.x, 0, size.width),
               std::clamp<double>(point.y, 0, size.height)};
    const BoundingBox box = BoundingBox::around(coords);
    const bool has_area = box.width() > 0 && box.height() > 0;
    if (!has_area) return losses().add("objects without an area within the frame");
    if (coords != node.coords) losses().add("the parts of objects outside of the frame (objects)");
    text += std::to_string(class_of(node.name));
    const auto add = [&text](double value, int whole) {
      text += ' ' + plain_number(value / whole);
    };
    if (how_.polygons && coords.size() >= 3) {
      for (const cv::Point2d& point : coords) {
        add(point.x, size.width);
        add(point.y, size.height);
      }
    } else {
      add(box.centre().x, size.width);
      add(box.centre().y, size.height);
      add(box.width(), size.width);
      add(box.height(), size.height);
    }
    const auto confidence = node.confidence();
    if (how_.confidences && confidence && std::isfinite(*confidence))
      text += ' ' + plain_number(*confidence);
    text += '\n';
  }

  std::size_t class_of(const std::string& name) {
    const auto [place, is_new] = numbers_.try_emplace(name, classes_.size());
    if (is_new) classes_.push_back(name);
    return place->second;
  }

  const YoloExport how_;
  StagedFolder folder_;
  Spool frames_;  ///< of frames.csv
  FrameNames names_;
  std::vector<std::string> classes_;  ///< in the order of their appearance; numbers from 0
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

std::unique_ptr<Sink> make_yolo_sink(const std::string& path, const YoloExport& how) {
  return std::make_unique<YoloSink>(path, how);
}

}  // namespace vcap
