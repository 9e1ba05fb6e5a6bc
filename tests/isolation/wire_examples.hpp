// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "isolation/wire_values.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/frame.hpp"

namespace vcap::test {

template <class... Fields>
WireMessage message_of(const Fields&... fields) {
  WireWriter writer;
  writer(fields...);
  return std::move(writer).take();
}

/// What arrives if the value is sent; all of the message must belong to it.
template <class Value>
Value sent(const Value& value, Value arrived = {}) {
  const WireMessage message = message_of(value);
  WireReader reader(message, "capsule people");
  reader(arrived);
  reader.end();
  return arrived;
}

/// Nodes with every field set.
inline DetectionNodes full_nodes() {
  DetectionNode part{.name = "head", .coords = {{1, 2}, {3, 4}, {5, 6}}};
  DetectionNode node{
      .name = "person",
      .coords = rect_to_coords(cv::Rect2d(10.5, -0.0, 1e300, 5e-324)),
      .detection_bbox = BoundingBox{1, 2, 3, 4},
      .attributes = {{"colour", "red"}, {"pose", ""}},
      .children = {part, part},
      .keypoints = {{.name = "knee", .point = {7, 8}, .z = -1.5, .confidence = 0.25},
                    {.name = "foot"}},
      .encoding = std::vector<float>{1, -2, 0.1F},
      .track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6"),
      .extra_data = {{"list", nlohmann::json::array({1, -2, 3.5, true, nullptr})}, {"text", "ü"}}};
  DetectionNodes nodes = DetectionNodes::all({node, {.name = "bag"}});
  nodes.give_picture("mask", cv::Mat(3, 4, CV_32FC1, cv::Scalar::all(0.5)));
  return nodes;
}

inline Frame full_frame() {
  Frame frame{.image = cv::Mat(4, 5, CV_8UC3, cv::Scalar(1, 2, 3)),
              .index = -7,
              .pts = std::chrono::nanoseconds(1'234'567'890'123),
              .discontinuity = Discontinuity::reconnect,
              .is_null = true,
              .source_file = "cat/1.jpg"};
  frame.pictures.set("depth", cv::Mat(2, 2, CV_16UC1, cv::Scalar::all(9)));
  return frame;
}

}  // namespace vcap::test
