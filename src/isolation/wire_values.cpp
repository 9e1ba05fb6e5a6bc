// SPDX-License-Identifier: Apache-2.0
#include "isolation/wire_values.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <utility>
#include <variant>

namespace vcap {
namespace {

template <class Duration>
void duration(WireWriter& wire, const Duration& value) {
  wire(std::int64_t{value.count()});
}
template <class Duration>
void duration(WireReader& wire, Duration& value) {
  std::int64_t count = 0;
  wire(count);
  value = Duration(count);
}

void sizes_fields(auto& wire, auto& sizes) { wire(sizes.preferred, sizes.maximum); }

void stencil_fields(auto& wire, auto& stencil) {
  wire(stencil.offsets);
  wire.choice(stencil.edge, StencilEdge::error);
}

void stream_fields(auto& wire, auto& info) {
  wire(info.id, info.config, info.seed, info.saved, info.saved_by);
}

void frame_fields(auto& wire, auto& frame) {
  wire(frame.image, frame.index);
  duration(wire, frame.pts);
  wire.choice(frame.discontinuity, Discontinuity::loop);
  wire(frame.is_null, frame.pictures, frame.source_file);
}

void statistics_fields(auto& wire, auto& statistics) {
  wire(statistics.queued, statistics.running, statistics.accepted, statistics.answered,
       statistics.failed, statistics.dropped, statistics.expired, statistics.cancelled,
       statistics.closed, statistics.rejected, statistics.batch_sizes, statistics.wait_ns,
       statistics.predict_ns);
}

void resource_fields(auto& wire, auto& options) {
  wire(options.cache, options.mirror, options.offline, options.certificates, options.cache_bytes);
  duration(wire, options.connect_timeout);
  duration(wire, options.stall_timeout);
  wire(options.attempts);
}

}  // namespace

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

void wire_fields(WireWriter& wire, const Frame& frame) { frame_fields(wire, frame); }
void wire_fields(WireReader& wire, Frame& frame) { frame_fields(wire, frame); }
void wire_fields(WireWriter& wire, const StreamInfo& info) { stream_fields(wire, info); }
void wire_fields(WireReader& wire, StreamInfo& info) { stream_fields(wire, info); }
void wire_fields(WireWriter& wire, const BatchSizes& sizes) { sizes_fields(wire, sizes); }
void wire_fields(WireReader& wire, BatchSizes& sizes) { sizes_fields(wire, sizes); }
void wire_fields(WireWriter& wire, const Stencil& stencil) { stencil_fields(wire, stencil); }
void wire_fields(WireReader& wire, Stencil& stencil) { stencil_fields(wire, stencil); }
void wire_fields(WireWriter& wire, const BatchStatistics& one) { statistics_fields(wire, one); }
void wire_fields(WireReader& wire, BatchStatistics& one) { statistics_fields(wire, one); }
void wire_fields(WireWriter& wire, const ResourceOptions& options) {
  resource_fields(wire, options);
}
void wire_fields(WireReader& wire, ResourceOptions& options) { resource_fields(wire, options); }

}  // namespace vcap
