// SPDX-License-Identifier: Apache-2.0
#include "view/differing_frames.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"
#include "view/page_parts.hpp"
#include "view/svg.hpp"

namespace vcap {
namespace {

std::string name_of(const DetectionNode& node) { return shortened(node.name); }

std::string text_of_pair(const NodePair& pair, FrameDifference::Kind kind, double move) {
  switch (kind) {
    case FrameDifference::Kind::appeared:
      return name_of(*pair.b) + " appeared";
    case FrameDifference::Kind::vanished:
      return name_of(*pair.a) + " vanished";
    case FrameDifference::Kind::renamed:
      return name_of(*pair.a) + " became " + name_of(*pair.b);
    case FrameDifference::Kind::moved:
      return name_of(*pair.a) + " moved by " + tenths(move) + " pixels, IoU " +
             std::to_string(pair.iou).substr(0, 4);
    case FrameDifference::Kind::same:
      break;
  }
  return {};
}

std::string value_or_none(const std::string& value) {
  return value.empty() ? "(none)" : shortened(value);
}

std::vector<std::string> texts_of(const FrameDifference& difference) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < difference.pairs.size(); ++i)
    if (difference.kinds[i] != FrameDifference::Kind::same)
      texts.push_back(text_of_pair(difference.pairs[i], difference.kinds[i], difference.moves[i]));
  for (const AttributeDifference& one : difference.attributes)
    texts.push_back(name_of(*difference.pairs[one.pair].a) + ": " + shortened(one.category) + " " +
                    value_or_none(one.a) + " became " + value_or_none(one.b));
  for (const MessageDifference& one : difference.messages)
    texts.push_back((one.is_warning ? "warning of " : "error of ") +
                    shortened(one.message.capsule) + " only in " + (one.in_a ? "A" : "B") + ": " +
                    shortened(one.message.message));
  if (difference.drops_differ) texts.push_back("other frames were dropped before");
  return texts;
}

std::vector<DrawnPair> drawn_pairs(const FrameDifference& difference) {
  std::vector<DrawnPair> drawn;
  for (const bool differs : {true, false})
    for (std::size_t i = 0; i < difference.pairs.size(); ++i) {
      const NodePair& pair = difference.pairs[i];
      const FrameDifference::Kind kind = difference.kinds[i];
      if ((kind != FrameDifference::Kind::same) != differs || (!pair.box_a && !pair.box_b))
        continue;
      if (drawn.size() == DifferingFrames::kMostPairs) return drawn;
      drawn.push_back({.kind = kind,
                       .a = pair.box_a,
                       .b = pair.box_b,
                       .text = name_of(pair.b != nullptr ? *pair.b : *pair.a)});
    }
  return drawn;
}

bool is_less(const DifferingFrame& one, const DifferingFrame& other) {
  return one.score < other.score;
}

}  // namespace

DifferingFrame* DifferingFrames::of_same_second(const std::string& stream,
                                                std::chrono::nanoseconds pts) {
  for (DifferingFrame& frame : frames_)
    if (frame.stream == stream &&
        std::chrono::abs(frame.pts - pts) < std::chrono::nanoseconds(std::chrono::seconds(1)))
      return &frame;
  return nullptr;
}

void DifferingFrames::add(const FrameRecord& a, const FrameDifference& difference,
                          const std::string& stream) {
  const double score = difference.score();
  if (score == 0 || most_ == 0) return;
  DifferingFrame* place = of_same_second(stream, a.frame.pts);
  if (place == nullptr && frames_.size() < most_) place = &frames_.emplace_back();
  if (place == nullptr) place = &*std::ranges::min_element(frames_, is_less);
  if (place->score >= score) return;
  std::vector<std::string> texts = texts_of(difference);
  const std::size_t shown = std::min(texts.size(), kMostTexts);
  const std::size_t left_out = texts.size() - shown;
  texts.resize(shown);
  *place = {.stream = stream,
            .id = a.stream_id,
            .index = a.frame.index,
            .pts = a.frame.pts,
            .resolution = a.resolution,
            .score = score,
            .pairs = drawn_pairs(difference),
            .texts = std::move(texts),
            .left_out = left_out};
}

std::vector<DifferingFrame> DifferingFrames::sorted() const {
  std::vector<DifferingFrame> frames = frames_;
  std::ranges::stable_sort(frames, [](const DifferingFrame& one, const DifferingFrame& other) {
    if (one.score != other.score) return one.score > other.score;
    return one.stream != other.stream ? one.stream < other.stream : one.pts < other.pts;
  });
  return frames;
}

}  // namespace vcap
