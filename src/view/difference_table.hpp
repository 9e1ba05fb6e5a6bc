// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "vcap/view/comparison.hpp"
#include "view/frame_difference.hpp"

namespace vcap {

/// The first frame with something. Thread safety: value.
struct FirstFrame {
  std::string stream{};
  std::int64_t frame = 0;
  std::chrono::nanoseconds pts{0};
};

/// What differs between two runs over all their streams, in bounded memory. Thread safety: value.
class DifferenceTable {
 public:
  static constexpr std::size_t kMostNames = 64;        ///< the last one stands for all others
  static constexpr std::size_t kMostAttributes = 200;  ///< changes of values
  static constexpr std::size_t kMostMessages = 100;

  struct Objects {
    ComparedObjects counts{};
    double iou_sum = 0;                ///< of moved ones
    std::int64_t with_confidence = 0;  ///< pairs whose nodes both have one
    double confidence_sum = 0;         ///< of B less A, over these
  };
  /// Name, category, value in A, value in B; values are empty where a node has none.
  using AttributeKey = std::tuple<std::string, std::string, std::string, std::string>;
  struct AttributeChange {
    std::int64_t count = 0;
    FirstFrame first{};
  };
  /// Whether it is a warning, capsule, code, text.
  using MessageKey = std::tuple<bool, std::string, std::string, std::string>;
  struct Message {
    std::int64_t only_a = 0;  ///< frames
    std::int64_t only_b = 0;
    FirstFrame first{};
  };

  /// A frame that both runs have.
  void add(const FrameRecord& a, const FrameDifference& difference, const std::string& stream);
  void add_field(const std::string& field) { ++fields_[field]; }

  const std::map<std::string, Objects>& objects() const noexcept { return objects_; }
  const std::map<AttributeKey, AttributeChange>& attributes() const noexcept { return attributes_; }
  std::int64_t other_attributes() const noexcept { return other_attributes_; }
  const std::map<MessageKey, Message>& messages() const noexcept { return messages_; }
  std::int64_t other_messages() const noexcept { return other_messages_; }
  std::int64_t messages_a() const noexcept { return messages_a_; }
  std::int64_t messages_b() const noexcept { return messages_b_; }
  const std::map<std::string, std::int64_t>& fields() const noexcept { return fields_; }

 private:
  Objects& of_name(const std::string& name);
  void add_equal(const DetectionNode& node);
  void add_pair(const NodePair& pair, FrameDifference::Kind kind, double move);
  void add_attribute(const AttributeDifference& one, const NodePair& pair, const FirstFrame& here);
  void add_message(const MessageDifference& one, const FirstFrame& here);

  std::map<std::string, Objects> objects_;
  std::map<AttributeKey, AttributeChange> attributes_;
  std::int64_t other_attributes_ = 0;
  std::map<MessageKey, Message> messages_;
  std::int64_t other_messages_ = 0;
  std::int64_t messages_a_ = 0;
  std::int64_t messages_b_ = 0;
  std::map<std::string, std::int64_t> fields_;
};

}  // namespace vcap
