// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "records/held_fields.hpp"
#include "records/outline.hpp"
#include "vcap/records/record_reader.hpp"
#include "vcap/records/sink.hpp"

namespace vcap::test {

/// Random records of one stream, frame after frame. Coordinates are multiples of 1/8, so that sums
/// of them are exact.
class RandomRecords {
 public:
  explicit RandomRecords(std::uint64_t seed) : engine_(seed) {
    for (int i = 0; i < 12; ++i) tracks_.push_back(Uuid::random(engine_));
  }

  std::vector<FrameRecord> make(std::size_t count) {
    std::vector<FrameRecord> records;
    for (std::size_t i = 0; i < count; ++i) records.push_back(one(static_cast<std::int64_t>(i)));
    return records;
  }

 private:
  int pick(int most) { return std::uniform_int_distribution<int>(0, most)(engine_); }
  bool chance(int percent) { return pick(99) < percent; }
  std::string text() {
    static const std::vector<std::string> kTexts{
        "person", "car",     "a,b",        "say \"hi\"", "line\nbreak", "<b>&amp;</b>", "größe",
        "#7",     "- list",  "key: value", "'quoted'",   " blank ",     "=1+1",         "日本",
        "\x01",   "ends \\", "{a: b}",     "[x]",        "crlf\r\n",    "tab\there"};
    return kTexts[static_cast<std::size_t>(pick(static_cast<int>(kTexts.size()) - 1))];
  }
  double eighth(int most) { return pick(most * 8) / 8.0; }

  FrameRecord one(std::int64_t index) {
    FrameRecord record{.stream_id = "entrance, \"left\"", .resolution = {1920, 1080}};
    record.frame.index = index;
    record.frame.pts = std::chrono::milliseconds(40) * index;
    if (index == 0) record.frame.discontinuity = Discontinuity::start;
    if (chance(10)) record.frame.discontinuity = Discontinuity::gap;
    if (chance(50)) record.frame.source_file = "shots/" + text() + std::to_string(index) + ".png";
    std::vector<Uuid> tracks = tracks_;
    for (int i = chance(20) ? 0 : pick(4); i > 0; --i) record.objects.push_back(node(1, tracks));
    return record;
  }

  DetectionNode node(int level, std::vector<Uuid>& tracks) {
    DetectionNode node{.name = text()};
    const double x = eighth(1700);
    const double y = eighth(900);
    const double w = 1 + eighth(200);
    const double h = 1 + eighth(150);
    node.coords = chance(70) ? rect_to_coords(BoundingBox{x, y, x + w, y + h})
                             : Coords{{x, y}, {x + w, y + h / 2}, {x + w / 2, y + h}};
    if (chance(10)) node.coords.clear();
    if (chance(20)) node.detection_bbox = BoundingBox{x + 1, y + 1, x + w, y + h};
    if (chance(40)) node.attributes = {{text(), text()}, {"upper_color", "red"}};
    if (chance(60) && !tracks.empty()) {
      node.track_id = tracks.back();
      tracks.pop_back();
    }
    if (chance(70)) node.extra_data["confidence"] = pick(1000) / 1000.0;
    if (chance(10)) node.extra_data["note"] = {1, text(), nullptr};
    if (chance(10)) node.encoding = {0.5F, 0.1F, -3.25F};
    if (chance(10))
      node.keypoints = {{.name = "nose", .point = {x, y}, .confidence = 0.5},
                        {.name = "ear", .point = {x + 1, y}}};
    if (level < 3 && !node.coords.empty() && chance(20))
      for (int i = pick(2); i >= 0; --i) node.children.push_back(this->node(level + 1, tracks));
    return node;
  }

  std::mt19937_64 engine_;
  std::vector<Uuid> tracks_;
};

/// Takes away what a format does not hold, as HeldFields says.
class Restriction {
 public:
  explicit Restriction(const HeldFields& held) : held_(held) {}

  FrameRecord of(FrameRecord record) {
    stream_ = record.stream_id;
    if (!held_.group) record.group.reset();
    if (!held_.times) record.frame.discontinuity = Discontinuity::none;
    if (!held_.source_file) record.frame.source_file.clear();
    record.objects = nodes(std::move(record.objects));
    return record;
  }

 private:
  std::vector<DetectionNode> nodes(std::vector<DetectionNode> list) {
    std::vector<DetectionNode> kept;
    for (DetectionNode& node : list) {
      std::vector<DetectionNode> children = std::exchange(node.children, {});
      const bool is_kept = held_.unbounded || !node.coords.empty();
      if (is_kept) kept.push_back(restricted(std::move(node)));
      children = nodes(std::move(children));
      std::vector<DetectionNode>& to = held_.children && is_kept ? kept.back().children : kept;
      for (DetectionNode& child : children) to.push_back(std::move(child));
    }
    return kept;
  }

  DetectionNode restricted(DetectionNode node) {
    if (!held_.outlines && !node.coords.empty()) node.coords = rect_to_coords(node.bbox());
    if (!held_.detection_bbox) node.detection_bbox.reset();
    if (!held_.keypoints) node.keypoints.clear();
    if (!held_.keypoint_details)
      for (Keypoint& one : node.keypoints) one.z.reset(), one.confidence.reset();
    if (!held_.attributes) node.attributes.clear();
    if (!held_.tracks) node.track_id.reset();
    if (node.track_id && !held_.track_ids) node.track_id = number(*node.track_id);
    if (!held_.encoding) node.encoding.reset();
    const auto confidence = held_.confidence ? node.confidence() : std::nullopt;
    if (!held_.extra_data) {
      node.extra_data = nlohmann::json::object();
      if (confidence) node.extra_data["confidence"] = *confidence;
    }
    return node;
  }

  /// Numbers in the order of appearance, as UUIDs; applied to both sides, only sameness counts.
  Uuid number(const Uuid& track) {
    std::mt19937_64 engine(numbers_.try_emplace({stream_, track}, numbers_.size()).first->second);
    return Uuid::random(engine);
  }

  const HeldFields held_;
  std::string stream_{};  ///< a track belongs to one
  std::map<std::pair<std::string, Uuid>, std::size_t> numbers_;
};

inline void write_all_records(Sink& sink, const std::vector<FrameRecord>& records) {
  for (const FrameRecord& record : records) sink.write(record);
  sink.close();
}

inline std::vector<FrameRecord> read_all_records(const std::string& path,
                                                 const RecordReadOptions& options = {}) {
  std::vector<FrameRecord> records;
  const auto reader = open_records(path, options);
  while (auto record = reader->read()) records.push_back(std::move(*record));
  return records;
}

}  // namespace vcap::test
