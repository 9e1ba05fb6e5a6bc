// SPDX-License-Identifier: Apache-2.0
#include "isolation/wire_values.hpp"

#include <array>
#include <bit>
#include <utility>
#include <variant>

namespace vcap {
// Parts of nodes. Writer and reader find them by the namespace of their own types, so they are in
// no unnamed one.

void wire_fields(auto& wire, Wired<cv::Point2d> auto& point) { wire(point.x, point.y); }

void wire_fields(auto& wire, Wired<BoundingBox> auto& box) { wire(box.x1, box.y1, box.x2, box.y2); }

void wire_fields(auto& wire, Wired<Keypoint> auto& keypoint) {
  wire(keypoint.name, keypoint.point, keypoint.z, keypoint.confidence);
}

void wire_fields(WireWriter& wire, const Uuid& uuid) {
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(uuid);
  wire(halves[0], halves[1]);
}

void wire_fields(WireReader& wire, Uuid& uuid) {
  std::array<std::uint64_t, 2> halves{};
  wire(halves[0], halves[1]);
  uuid = std::bit_cast<Uuid>(halves);
}

void wire_fields(auto& wire, Wired<DetectionNode> auto& node) {
  wire(node.name, node.coords, node.detection_bbox, node.attributes, node.keypoints, node.encoding,
       node.track_id, node.extra_data);
  wire.nested(node.children);
}

void wire_fields(auto& wire, Wired<Pictures::Entry> auto& picture) {
  wire(picture.name, picture.image);
}

void wire_fields(WireWriter& wire, const Pictures& pictures) {
  wire(std::span(pictures.begin(), pictures.end()));
}

void wire_fields(WireReader& wire, Pictures& pictures) {
  std::vector<Pictures::Entry> entries;
  wire(entries);
  pictures = {};
  for (auto& [name, image] : entries) pictures.set(std::move(name), std::move(image));
}

void wire_fields(WireWriter& wire, const DetectionNodes& nodes) {
  wire.choice(nodes.kind(), NodeDescription::Size::all);
  wire(std::span(nodes.begin(), nodes.end()), nodes.pictures());
}

void wire_fields(WireReader& wire, DetectionNodes& nodes) {
  NodeDescription::Size kind{};
  std::vector<DetectionNode> list;
  Pictures pictures;
  wire.choice(kind, NodeDescription::Size::all);
  wire(list, pictures);
  if (kind == NodeDescription::Size::all) {
    nodes = DetectionNodes::all(std::move(list));
  } else {
    const bool is_single = kind == NodeDescription::Size::single;
    if (list.size() != (is_single ? 1 : 0)) wire.refuse("has nodes that are not of their size");
    nodes = is_single ? DetectionNodes::single(std::move(list.front())) : DetectionNodes::none();
  }
  for (const auto& [name, image] : pictures) nodes.give_picture(name, image);
}

void wire_fields(WireWriter& wire, const FrameWindow& window) { wire(window.frames, window.nodes); }

void wire_fields(WireReader& wire, ReceivedWindow& window) { wire(window.frames, window.nodes); }

void wire_fields(WireWriter& wire, const OptionValues& values) {
  wire(std::uint64_t{values.declared().size()});
  for (const auto& [name, option] : values.declared()) {
    const OptionValue& value = values.get(name);
    wire(name, static_cast<std::uint8_t>(value.index()));
    std::visit([&wire](const auto& one) { wire(one); }, value);
  }
}

void wire_fields(WireReader& wire, OptionValues& values) {
  std::uint64_t more = 0;
  wire(more);
  for (; more > 0; --more) {
    std::string name;
    std::uint8_t type = 0;
    wire(name, type);
    const auto set = [&](auto value) {
      wire(value);
      values.set(name, OptionValue(std::move(value)));
    };
    if (type == 0)
      set(double{});
    else if (type == 1)
      set(std::int64_t{});
    else if (type == 2)
      set(bool{});
    else if (type == 3)
      set(std::string());
    else
      wire.refuse("has an option of an unknown type");
  }
}

void wire_fields(WireWriter& wire, const Histogram& histogram) {
  const std::vector<Histogram::Bucket> buckets = histogram.buckets();
  wire(std::uint64_t{buckets.size()});
  for (const Histogram::Bucket& bucket : buckets) wire(bucket.low, bucket.count);
}

void wire_fields(WireReader& wire, Histogram& histogram) {
  histogram = {};
  std::uint64_t more = 0;
  wire(more);
  for (; more > 0; --more) {
    std::uint64_t low = 0;
    std::uint64_t count = 0;
    wire(low, count);
    histogram.add(low, count);
  }
}

}  // namespace vcap
