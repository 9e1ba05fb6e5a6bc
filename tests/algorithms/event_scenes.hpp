// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "vcap/algorithms/event_detector.hpp"

namespace vcap::test {

/// The id of a track of a scene.
inline Uuid track_id(std::uint8_t number) {
  constexpr char kHex[] = "0123456789abcdef";
  return Uuid::parse(std::string("00000000-0000-4000-8000-0000000000") + kHex[number / 16] +
                     kHex[number % 16]);
}

/// A node of 20 × 40 pixels whose feet (bottom centre) are there.
inline DetectionNode node_at(cv::Point2d feet, std::uint8_t track, std::string name = "person") {
  return {.name = std::move(name),
          .coords = rect_to_coords(cv::Rect2d(feet.x - 10, feet.y - 40, 20, 40)),
          .track_id = track_id(track)};
}

/// A line from (50, 100) to (150, 100): "in" is downwards.
inline EventLine test_line(double hysteresis = 5) {
  return {.name = "gate", .from = {50, 100}, .to = {150, 100}, .hysteresis = hysteresis};
}

/// The square from (100, 100) to (200, 200).
inline EventZone test_zone(std::string name = "yard", double hysteresis = 5) {
  return {.name = std::move(name),
          .polygon = {{100, 100}, {200, 100}, {200, 200}, {100, 200}},
          .hysteresis = hysteresis};
}

/// Feeds a detector with ten frames a second, and keeps what happens.
class EventScene {
 public:
  static constexpr std::chrono::milliseconds kStep{100};

  explicit EventScene(EventRules rules, cv::Size size = {640, 480})
      : detector(std::move(rules), 7), size_(size) {}

  EventScene& frame(const std::vector<DetectionNode>& nodes,
                    Discontinuity discontinuity = Discontinuity::none) {
    Frame frame;
    frame.index = index_++;
    frame.pts = pts_;
    frame.discontinuity = discontinuity;
    pts_ += kStep;
    add(detector.update(frame, size_, nodes));
    return *this;
  }
  /// As many frames without nodes.
  EventScene& empty(int frames) {
    for (int i = 0; i < frames; ++i) frame({});
    return *this;
  }
  EventScene& null_frame() {
    Frame frame;
    frame.index = index_++;
    frame.pts = pts_;
    frame.is_null = true;
    pts_ += kStep;
    add(detector.update(frame, {}, {}));
    return *this;
  }
  /// The track 1 at these places, one in each frame.
  EventScene& walk(const std::vector<cv::Point2d>& places) {
    for (const cv::Point2d place : places) frame({node_at(place, 1)});
    return *this;
  }
  EventScene& pause(std::chrono::nanoseconds time) {
    pts_ += time;
    return *this;
  }
  EventScene& resize(cv::Size size) {
    size_ = size;
    return *this;
  }
  EventScene& finish() {
    add(detector.finish());
    return *this;
  }

  /// Such as "+enter@3" and "-enter@9 left", "cross in@4": the kind, with its direction, and the
  /// frame of the begin or end. Momentary events have one entry.
  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const EventChange& change : changes) {
      const Event& event = change.event;
      if (event.reason == EventEnd::momentary) continue;
      std::string text(to_string(event.kind));
      if (!event.direction.empty()) text += ' ' + event.direction;
      const bool is_momentary = event.kind == EventKind::leave || event.kind == EventKind::cross ||
                                event.kind == EventKind::attribute;
      if (!is_momentary) text.insert(0, change.phase == EventChange::Phase::begin ? "+" : "-");
      text += '@' + std::to_string((event.end ? *event.end : event.begin).frame_index);
      if (event.reason) text += ' ' + std::string(to_string(*event.reason));
      texts.push_back(text);
    }
    return texts;
  }

  EventDetector detector;
  std::vector<EventChange> changes{};

 private:
  void add(std::vector<EventChange> more) {
    for (EventChange& change : more) changes.push_back(std::move(change));
  }

  cv::Size size_;
  std::int64_t index_ = 0;
  std::chrono::nanoseconds pts_{0};
};

/// Each event begins once, and ends at most once, after its begin. Returns the number of open ones.
inline std::size_t expect_one_begin_and_end(const std::vector<EventChange>& changes) {
  std::map<Uuid, bool> open;  // by id: whether it has not ended
  for (const EventChange& change : changes) {
    const Event& event = change.event;
    if (change.phase == EventChange::Phase::begin) {
      EXPECT_TRUE(open.emplace(event.id, true).second) << "began twice";
      EXPECT_FALSE(event.reason || event.end);
      continue;
    }
    const auto known = open.find(event.id);
    EXPECT_TRUE(known != open.end() && known->second) << "ended without being open";
    if (known != open.end()) known->second = false;
    EXPECT_TRUE(event.reason && event.end);
    if (event.end) {
      EXPECT_GE(event.end->pts, event.begin.pts);
    }
  }
  std::size_t count = 0;
  for (const auto& [id, is_open] : open) count += is_open ? 1 : 0;
  return count;
}

}  // namespace vcap::test
