// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/counter_annotator.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "image/drawing.hpp"
#include "image/text_patch.hpp"

namespace vcap {
namespace {

using Corner = CounterSettings::Corner;

const cv::Scalar kPanelColor(40, 40, 40);

/// "door: in 3, out 5"; empty if the node has none of these counters.
std::string own_counters(const DetectionNode& node, const std::vector<std::string>& keys) {
  if (!node.extra_data.is_object()) return {};
  const nlohmann::json& data = *node.extra_data;
  std::string counters;
  for (const std::string& key : keys) {
    const auto count = data.find(key);
    if (count == data.end() || !count->is_number_integer()) continue;
    counters += (counters.empty() ? "" : ", ") + key + " " + count->dump();
  }
  if (counters.empty()) return {};
  const auto title = data.find(node.name);
  return (title != data.end() && title->is_string() ? title->get<std::string>() : node.name) +
         ": " + counters;
}

cv::Point corner_of_panel(Corner corner, cv::Size panel, cv::Size image) {
  const bool right = corner == Corner::top_right || corner == Corner::bottom_right;
  const bool bottom = corner == Corner::bottom_left || corner == Corner::bottom_right;
  return {right ? image.width - panel.width : 0, bottom ? image.height - panel.height : 0};
}

}  // namespace

CounterAnnotator::CounterAnnotator(CounterSettings settings) : settings_(std::move(settings)) {
  check_style(settings_.style, "CounterAnnotator");
}

CounterAnnotator::~CounterAnnotator() = default;

void CounterAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame&) {
  std::map<std::string, std::size_t> counts;
  std::vector<std::string> own;
  visit_all(nodes, settings_.style, [&](const DetectionNode& node) {
    std::string counters = own_counters(node, settings_.keys);
    if (!counters.empty())
      own.push_back(std::move(counters));
    else if (settings_.names)
      ++counts[node.name];
  });
  const TextStyle text(1.2 * scale_for(settings_.style, image.size()));
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (std::string shown = text.fitted(shown_text(line), image.cols); !shown.empty())
      lines.push_back(std::move(shown));
  };
  for (const auto& [name, count] : counts) add(name + " " + std::to_string(count));
  for (const std::string& line : own) add(line);
  const auto room = static_cast<std::size_t>(text.lines_in(image.rows));
  if (lines.size() > room) lines.resize(room);
  if (lines.empty()) return;
  const cv::Size panel = text.size(lines);
  text.draw(image, {corner_of_panel(settings_.corner, panel, image.size()), panel}, lines,
            kPanelColor);
}

}  // namespace vcap
