// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/label_annotator.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "image/drawing.hpp"
#include "image/label_placement.hpp"
#include "image/text_patch.hpp"

namespace vcap {
namespace {

/// The characters of a label's shortest text, if it has no track.
constexpr std::size_t kShortText = 8;

using TextLines = std::vector<std::string>;

/// A node's label before it has a place.
struct Label {
  const DetectionNode* node = nullptr;
  cv::Rect box{};
  std::vector<TextLines> texts{};  ///< the preferred one first
};

std::string two_digits(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f", value);
  return buffer;
}

std::string short_track(const DetectionNode& node) {
  return '#' + node.track_id->to_string().substr(0, 8);
}

TextLines lines_of(const DetectionNode& node, const LabelSettings& settings) {
  std::string first;
  const auto append = [&first](const std::string& part) {
    if (!first.empty() && !part.empty()) first += ' ';
    first += part;
  };
  if (settings.names) append(node.name);
  if (settings.confidence)
    if (const std::optional<double> confidence = node.confidence()) append(two_digits(*confidence));
  if (settings.track_ids && node.track_id) append(short_track(node));

  TextLines lines;
  if (!first.empty()) lines.push_back(shown_text(first));
  if (settings.attributes)
    for (const auto& [category, value] : node.attributes)
      lines.push_back(shown_text(category + ": " + value));
  return lines;
}

std::string shortest_text(const DetectionNode& node, const LabelSettings& settings,
                          const std::string& first) {
  if (settings.track_ids && node.track_id) return short_track(node);
  return first.size() > kShortText ? first.substr(0, kShortText - 2) + ".." : first;
}

/// The node's texts that fit the image, from the longest to the shortest.
std::vector<TextLines> texts_of(const DetectionNode& node, const LabelSettings& settings,
                                const TextStyle& text, cv::Size image) {
  TextLines all = lines_of(node, settings);
  for (std::string& line : all) line = text.fitted(std::move(line), image.width);
  std::erase(all, "");
  const auto room = static_cast<std::size_t>(text.lines_in(image.height));
  if (all.size() > room) all.resize(room);
  if (all.empty()) return {};
  const std::string first = all.front();
  const std::string shortest = text.fitted(shortest_text(node, settings, first), image.width);
  std::vector<TextLines> texts{std::move(all)};
  if (texts.front().size() > 1) texts.push_back({first});
  if (!shortest.empty() && shortest.size() < first.size()) texts.push_back({shortest});
  return texts;
}

/// Whether `a` has its place before `b`: tracks by their ids, then from the bottom to the top.
bool comes_first(const Label& a, const Label& b) {
  const auto key = [](const Label& label) {
    const cv::Rect& box = label.box;
    return std::tuple(!label.node->track_id, label.node->track_id.value_or(Uuid()),
                      -(box.y + box.height), box.x, box.y, box.width,
                      std::string_view(label.node->name));
  };
  const auto of_a = key(a), of_b = key(b);
  if (of_a != of_b) return of_a < of_b;
  return a.texts < b.texts;
}

}  // namespace

/// The places of the labels of tracks in the frame before.
class LabelAnnotator::Memory {
 public:
  explicit Memory(std::chrono::nanoseconds settled) : settled_(settled) {}

  void clear() { places_.clear(); }

  /// The place at which the label should stay, if it has moved lately.
  std::optional<int> place_of(const Uuid& track, std::chrono::nanoseconds now) const {
    const auto known = places_.find(track);
    if (known == places_.end() || now < known->second.since ||
        now - known->second.since >= settled_)
      return std::nullopt;
    return known->second.place;
  }

  void note(const Uuid& track, int place, std::chrono::nanoseconds now) {
    const auto known = places_.find(track);
    const bool stays = known != places_.end() && known->second.place == place;
    next_[track] = {place, stays ? known->second.since : now};
  }

  /// Forgets the tracks that this frame does not have.
  void end_frame() {
    places_ = std::move(next_);
    next_.clear();
  }

 private:
  struct Place {
    int place = 0;
    std::chrono::nanoseconds since{};
  };

  const std::chrono::nanoseconds settled_;
  std::map<Uuid, Place> places_, next_;
};

LabelAnnotator::LabelAnnotator(LabelSettings settings)
    : settings_(std::move(settings)), memory_(std::make_unique<Memory>(settings_.settled)) {
  check_style(settings_.style, "LabelAnnotator");
}

LabelAnnotator::~LabelAnnotator() = default;

std::size_t LabelAnnotator::left_out() const noexcept { return left_out_; }

void LabelAnnotator::reset() { memory_->clear(); }

void LabelAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes,
                          const Frame& frame) {
  if (frame.discontinuity != Discontinuity::none) memory_->clear();
  const double scale = scale_for(settings_.style, image.size());
  const TextStyle text(scale);
  std::vector<Label> labels;
  visit(nodes, settings_.style, [&](const DetectionNode& node) {
    const cv::Rect box = pixels_of(node.bbox());
    if ((box & cv::Rect({}, image.size())).empty()) return;
    labels.push_back({&node, box, texts_of(node, settings_, text, image.size())});
    if (labels.back().texts.empty()) labels.pop_back();
  });
  std::ranges::sort(labels, comes_first);

  std::vector<LabelRequest> requests;
  for (const Label& label : labels) {
    requests.push_back({.box = label.box});
    for (const TextLines& lines : label.texts) requests.back().sizes.push_back(text.size(lines));
    if (label.node->track_id)
      requests.back().place = memory_->place_of(*label.node->track_id, frame.pts);
  }
  const auto placed = place_labels(requests, image.size());

  const auto color = [this](const Label& label) {
    return color_of(*label.node, settings_.style.color_by);
  };
  left_out_ = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {  // lines first: none crosses a patch
    if (!placed[i]) {
      ++left_out_;
      continue;
    }
    if (labels[i].node->track_id)
      memory_->note(*labels[i].node->track_id, placed[i]->place, frame.pts);
    if (!placed[i]->leader) continue;
    cv::line(image, *placed[i]->leader, end_of_line(*placed[i]), color(labels[i]),
             line_width(scale), cv::LINE_AA);
  }
  memory_->end_frame();
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (placed[i])
      text.draw(image, placed[i]->patch, labels[i].texts[placed[i]->text], color(labels[i]));
}

}  // namespace vcap
