// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/detection_nodes.hpp"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/json_readers.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::string kind_text(NodeDescription::Size kind) {
  switch (kind) {
    case NodeDescription::Size::none:
      return "no nodes";
    case NodeDescription::Size::single:
      return "a single node";
    case NodeDescription::Size::all:
      return "a list of nodes";
  }
  return "an unknown kind of nodes";
}

void check_index(std::size_t index, std::size_t size) {
  if (index < size) return;
  throw InvalidArgument(ErrorCode::invalid_argument, "there is no node " + std::to_string(index) +
                                                         " among " + std::to_string(size) +
                                                         "; the first is number 0");
}

void check_single(NodeDescription::Size kind) {
  if (kind == NodeDescription::Size::single) return;
  throw TypeMismatch("node() is for a single node, but these are " + kind_text(kind) +
                     "; see the capsule's input and output type");
}

}  // namespace

DetectionNodes::DetectionNodes(DetectionNodes&& other) noexcept
    : kind_(std::exchange(other.kind_, NodeDescription::Size::none)),
      nodes_(std::exchange(other.nodes_, {})),
      pictures_(std::exchange(other.pictures_, {})) {}

DetectionNodes& DetectionNodes::operator=(DetectionNodes&& other) noexcept {
  if (this == &other) return *this;
  kind_ = std::exchange(other.kind_, NodeDescription::Size::none);
  nodes_ = std::exchange(other.nodes_, {});
  pictures_ = std::exchange(other.pictures_, {});
  return *this;
}

DetectionNodes DetectionNodes::none() { return {}; }

DetectionNodes DetectionNodes::single(DetectionNode node) {
  DetectionNodes nodes;
  nodes.kind_ = NodeDescription::Size::single;
  nodes.nodes_.push_back(std::move(node));
  return nodes;
}

DetectionNodes DetectionNodes::all(std::vector<DetectionNode> list) {
  DetectionNodes nodes;
  nodes.kind_ = NodeDescription::Size::all;
  nodes.nodes_ = std::move(list);
  return nodes;
}

DetectionNode& DetectionNodes::node() & {
  check_single(kind_);
  return nodes_.front();
}

const DetectionNode& DetectionNodes::node() const& {
  check_single(kind_);
  return nodes_.front();
}

DetectionNode DetectionNodes::node() && { return std::move(node()); }

DetectionNode& DetectionNodes::operator[](std::size_t index) & {
  check_index(index, nodes_.size());
  return nodes_[index];
}

const DetectionNode& DetectionNodes::operator[](std::size_t index) const& {
  check_index(index, nodes_.size());
  return nodes_[index];
}

DetectionNode DetectionNodes::operator[](std::size_t index) && { return std::move((*this)[index]); }

void DetectionNodes::add(DetectionNode node) {
  if (kind_ != NodeDescription::Size::all) {
    throw TypeMismatch("add() is for a list of nodes, but this holds " + kind_text(kind_) +
                       "; start from DetectionNodes::all()");
  }
  nodes_.push_back(std::move(node));
}

std::vector<DetectionNode> DetectionNodes::take() && {
  kind_ = NodeDescription::Size::none;
  return std::exchange(nodes_, {});
}

void DetectionNodes::give_picture(std::string name, cv::Mat image) {
  pictures_.set(std::move(name), std::move(image));
}

Pictures DetectionNodes::take_pictures() noexcept { return std::exchange(pictures_, {}); }

void to_json(nlohmann::json& json, const DetectionNodes& nodes) {
  switch (nodes.kind()) {
    case NodeDescription::Size::none:
      json = nullptr;
      break;
    case NodeDescription::Size::single:
      json = nodes.node();
      break;
    case NodeDescription::Size::all:
      json = nlohmann::json::array();
      for (const DetectionNode& node : nodes) json.push_back(node);
      break;
  }
}

void from_json(const nlohmann::json& json, DetectionNodes& nodes) {
  const JsonView view(json);
  if (json.is_null()) {
    nodes = DetectionNodes::none();
  } else if (json.is_object()) {
    nodes = DetectionNodes::single(read_detection_node(view));
  } else if (json.is_array()) {
    DetectionNodes list = DetectionNodes::all();
    for (const JsonView& element : view.elements()) list.add(read_detection_node(element));
    nodes = std::move(list);
  } else {
    view.fail("null, a node or an array of nodes");
  }
}

}  // namespace vcap
