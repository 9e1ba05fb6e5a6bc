// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/node_description.hpp"
#include "vcap/model/pictures.hpp"

namespace vcap {

/// The input or output nodes of a capsule. As its output, also the pictures that it gives.
///
/// Holds nothing, one node, or a list, according to the capsule's NodeDescription::Size. After it
/// is moved from, it holds nothing. Thread safety: value.
class VCAP_EXPORT DetectionNodes {
 public:
  using value_type = DetectionNode;
  using iterator = std::vector<DetectionNode>::iterator;
  using const_iterator = std::vector<DetectionNode>::const_iterator;

  /// The same as none().
  DetectionNodes() = default;
  DetectionNodes(const DetectionNodes&) = default;
  DetectionNodes(DetectionNodes&& other) noexcept;
  DetectionNodes& operator=(const DetectionNodes&) = default;
  DetectionNodes& operator=(DetectionNodes&& other) noexcept;

  /// No nodes: the input of a capsule with input size `none`.
  static DetectionNodes none();
  /// One node.
  static DetectionNodes single(DetectionNode node);
  /// A list, which may be empty.
  static DetectionNodes all(std::vector<DetectionNode> nodes = {});

  NodeDescription::Size kind() const noexcept { return kind_; }
  std::size_t size() const noexcept { return nodes_.size(); }
  bool empty() const noexcept { return nodes_.empty(); }

  /// The one node; throws TypeMismatch unless this is single.
  DetectionNode& node() &;
  const DetectionNode& node() const&;
  DetectionNode node() &&;

  /// Throws InvalidArgument if there is no such node.
  DetectionNode& operator[](std::size_t index) &;
  const DetectionNode& operator[](std::size_t index) const&;
  DetectionNode operator[](std::size_t index) &&;

  iterator begin() & noexcept { return nodes_.begin(); }
  iterator end() & noexcept { return nodes_.end(); }
  const_iterator begin() const& noexcept { return nodes_.begin(); }
  const_iterator end() const& noexcept { return nodes_.end(); }
  const_iterator begin() const&& = delete;  // would point into a temporary
  const_iterator end() const&& = delete;

  /// Adds a node to a list; throws TypeMismatch unless this is a list.
  void add(DetectionNode node);
  /// Moves all nodes out, for every kind; afterwards this holds nothing but its pictures.
  std::vector<DetectionNode> take() &&;

  /// Adds a picture to what the capsule gives for this frame (CapsuleInfo::gives_pictures), or
  /// replaces the one of that name. For every kind. Shares the pixels, which must not be written
  /// any more. `image` must own its pixels: clone() one that refers to memory of others.
  void give_picture(std::string name, cv::Mat image);
  /// The pictures of give_picture(). Input has none: a capsule gets pictures in Frame::pictures.
  const Pictures& pictures() const& noexcept { return pictures_; }
  Pictures pictures() && noexcept { return take_pictures(); }
  /// Moves all pictures out; the nodes stay.
  Pictures take_pictures() noexcept;

  /// Pictures are equal if they share their pixels.
  bool operator==(const DetectionNodes&) const = default;

 private:
  NodeDescription::Size kind_ = NodeDescription::Size::none;
  std::vector<DetectionNode> nodes_;
  Pictures pictures_;
};

/// null, an object or an array, depending on the kind, without pictures; from_json throws
/// InvalidArgument (invalid_json).
VCAP_EXPORT void to_json(nlohmann::json& json, const DetectionNodes& nodes);
VCAP_EXPORT void from_json(const nlohmann::json& json, DetectionNodes& nodes);

}  // namespace vcap
