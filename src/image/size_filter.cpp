// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/size_filter.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Bound = std::optional<double>;

void check(const std::string& what, const Bound& min, const Bound& max) {
  const auto fail = [](const std::string& message) {
    throw InvalidArgument(ErrorCode::invalid_argument, "size filter: " + message);
  };
  const auto min_text = [&] { return "min_" + what + " " + number_text(*min); };
  const auto max_text = [&] { return "max_" + what + " " + number_text(*max); };
  if (min && !(*min >= 0)) fail(min_text() + " is not 0 or more");
  if (max && !(*max >= 0)) fail(max_text() + " is not 0 or more");
  if (min && max && *min > *max) fail(min_text() + " is above " + max_text());
}

bool within(double value, const Bound& min, const Bound& max) {
  return (!min || value >= *min) && (!max || value <= *max);
}

void check(const SizeFilter& filter) {
  check("width", filter.min_width, filter.max_width);
  check("height", filter.min_height, filter.max_height);
  check("area", filter.min_area, filter.max_area);
}

bool accepts_checked(const SizeFilter& filter, const DetectionNode& node) {
  const BoundingBox box = node.bbox();
  return within(box.width(), filter.min_width, filter.max_width) &&
         within(box.height(), filter.min_height, filter.max_height) &&
         within(box.area(), filter.min_area, filter.max_area);
}

}  // namespace

bool SizeFilter::accepts(const DetectionNode& node) const {
  check(*this);
  return accepts_checked(*this, node);
}

DetectionNodes SizeFilter::apply(DetectionNodes nodes) const {
  check(*this);
  switch (nodes.kind()) {
    case NodeDescription::Size::none:
      return nodes;
    case NodeDescription::Size::single:
      return accepts_checked(*this, nodes.node()) ? std::move(nodes) : DetectionNodes::none();
    case NodeDescription::Size::all:
      break;
  }
  std::vector<DetectionNode> kept = std::move(nodes).take();
  std::erase_if(kept, [this](const DetectionNode& node) { return !accepts_checked(*this, node); });
  return DetectionNodes::all(std::move(kept));
}

}  // namespace vcap
