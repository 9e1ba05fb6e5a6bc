// SPDX-License-Identifier: Apache-2.0
#include "view/stream_summary.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "view/clip_pictures.hpp"
#include "view/page_parts.hpp"

namespace vcap {
namespace {

constexpr const char* kOtherNames = "(other names)";
/// A drop's reason is one of few words; more are joined.
constexpr std::size_t kMostReasons = 32;
constexpr const char* kOtherReasons = "(other reasons)";
std::string value_text(const OptionValue& value) {
  return std::visit(
      [](const auto& one) {
        if constexpr (std::is_same_v<decltype(one), const std::string&>)
          return quote(one);
        else
          return nlohmann::json(one).dump();
      },
      value);
}

}  // namespace

void StreamSummary::Messages::add(const FrameRecord::CapsuleError& error, const Frame& frame) {
  const std::string text = bounded_text(error.message);
  const std::string key = error.capsule + '\n' + error.code + '\n' + text;
  if (const auto known = places.find(key); known != places.end()) {
    SeenMessage& message = messages[known->second];
    ++message.count;
    if (message.frames.size() < kMostFrames && message.frames.back().first != frame.index)
      message.frames.emplace_back(frame.index, frame.pts);
    return;
  }
  if (messages.size() == kMostMessages) {
    ++others;
    return;
  }
  places.emplace(key, messages.size());
  messages.push_back({.capsule = error.capsule,
                      .code = error.code,
                      .text = text,
                      .count = 1,
                      .frames = {{frame.index, frame.pts}}});
}

std::size_t StreamSummary::name_number(const std::string& name) {
  if (const auto known = name_numbers_.find(name); known != name_numbers_.end())
    return known->second;
  if (names_.size() + 1 >= kMostNames) {
    if (names_.size() < kMostNames) names_.push_back(kOtherNames);
    return kMostNames - 1;
  }
  if (name.size() > kLongestKept) return name_number(shortened(name));
  name_numbers_.emplace(name, names_.size());
  names_.push_back(name);
  return names_.size() - 1;
}

void StreamSummary::add(const FrameRecord& record) {
  const Frame& frame = record.frame;
  begin_ = frames_ == 0 ? frame.pts : std::min(begin_, frame.pts);
  end_ = frames_ == 0 ? frame.pts : std::max(end_, frame.pts);
  ++frames_;
  ++over_time_.at(frame.pts).frames;
  if (record.resolution.area() > 0) resolution_ = record.resolution;
  begin_pictures(frame);
  for (const DetectionNode& node : record.objects) add(node, record);
  for (const FrameRecord::Drop& drop : record.drops) {
    const std::string reason = shortened(drop.reason);
    const bool is_known = drops_.contains(reason) || drops_.size() < kMostReasons;
    drops_[is_known ? reason : kOtherReasons] += drop.count;
  }
  if (!record.errors.empty()) ++failed_frames_;
  for (const FrameRecord::CapsuleError& error : record.errors) errors_.add(error, frame);
  for (const FrameRecord::CapsuleError& warning : record.warnings) warnings_.add(warning, frame);
  add_changes(record);
  thumbnails_.begin({});  // lets go of the pixels
}

void StreamSummary::add(const DetectionNode& node, const FrameRecord& record) {
  const std::size_t name = name_number(node.name);
  ++objects_;
  if (objects_by_name_.size() <= name) objects_by_name_.resize(name + 1);
  ++objects_by_name_[name];
  over_time_.add(record.frame.pts, name, 1);
  if (!node.coords.empty()) {
    const BoundingBox box = node.bbox();
    heat_.add(box, record.resolution);
    if (node.track_id) {
      const auto dwell =
          tracks_.see(*node.track_id, name, box, record.frame.pts, record.frame.index);
      take_thumbnail(node, box, record, dwell);
    }
  }
  for (const auto& [full_category, full_value] : node.attributes) {
    const std::string category = shortened(full_category);
    const std::string value = shortened(full_value);
    const auto known = attributes_.find(category);
    const bool is_new = known == attributes_.end() || !known->second.contains(value);
    if (is_new && values_ == kMostValues) {
      ++other_values_;
      continue;
    }
    if (is_new) ++values_;
    ++attributes_[category][value];
  }
  for (const DetectionNode& child : node.children) add(child, record);
}

/// A failure costs only the pictures.
void StreamSummary::begin_pictures(const Frame& frame) {
  thumbnails_.begin(frame.image);
  if (frame.image.empty() || !background_.empty() || !picture_failure_.empty()) return;
  try {
    background_ = picture_uri(frame.image, {.longest_side = kBackgroundSide});
  } catch (const std::exception& error) {
    picture_failure_ = error.what();
  }
}

void StreamSummary::take_thumbnail(const DetectionNode& node, const BoundingBox& box,
                                   const FrameRecord& record, std::chrono::nanoseconds dwell) {
  if (record.frame.image.empty() || !picture_failure_.empty()) return;
  try {
    thumbnails_.see(*node.track_id, box, record.resolution, dwell);
  } catch (const std::exception& error) {
    picture_failure_ = error.what();
  }
}

std::int64_t StreamSummary::dropped() const noexcept {
  std::int64_t dropped = 0;
  for (const auto& [reason, count] : drops_) dropped += count;
  return dropped;
}

void StreamSummary::add_changes(const FrameRecord& record) {
  for (const FrameRecord::OptionChange& change : record.option_changes)
    add_change(record.frame, "option " + change.option + " of capsule " + change.capsule + " = " +
                                 value_text(change.value));
  for (const FrameRecord::Replacement& change : record.replacements)
    add_change(record.frame, "capsule " + change.capsule + ": version " +
                                 std::to_string(change.to_version) + " replaces " +
                                 std::to_string(change.from_version));
  for (const FrameRecord::ConfigChange& change : record.config_changes)
    add_change(record.frame, "capsule " + change.capsule + " has another config");
}

void StreamSummary::add_change(const Frame& frame, std::string text) {
  if (changes_.size() == kMostChanges)
    ++other_changes_;
  else
    changes_.push_back({.frame = frame.index, .pts = frame.pts, .text = std::move(text)});
}

}  // namespace vcap
