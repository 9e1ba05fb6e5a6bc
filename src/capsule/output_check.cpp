// SPDX-License-Identifier: Apache-2.0
#include "capsule/output_check.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap::detail {
namespace {

using Json = nlohmann::json;

// About what JSON needs, beside the texts themselves.
constexpr std::size_t kNodeBytes = 64;
constexpr std::size_t kPointBytes = 40;
constexpr std::size_t kBoxBytes = 96;
constexpr std::size_t kKeypointBytes = 80;
constexpr std::size_t kTrackBytes = 52;
constexpr std::size_t kNumberBytes = 16;
constexpr std::size_t kTextBytes = 4;

/// Half of the largest number: the width of a box within these bounds is finite too.
constexpr double kFarthest = std::numeric_limits<double>::max() / 2;

/// False for NaN.
bool is_place(double pixels) noexcept { return std::abs(pixels) <= kFarthest; }

/// False for NaN. Sums of 32-bit floats, as of softmax, may be a little above 1.
bool is_confidence(double value) noexcept {
  constexpr double kRounding = 1e-5;
  return value >= -kRounding && value <= 1 + kRounding;
}

bool are_finite(std::span<const float> values) noexcept {
  constexpr std::uint32_t kExponent = 0x7f800000u;  // all of its bits are set in infinities and NaN
  std::uint32_t others = 0;
  for (const float value : values)
    others |= (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1u : 0u;
  return others == 0;
}

std::span<const DetectionNode> span_of(const DetectionNodes& nodes) noexcept {
  return {nodes.begin(), nodes.size()};
}

std::size_t bytes_of(const std::string& category, const std::string& value) noexcept {
  return category.size() + value.size() + 2 * kTextBytes;
}

/// quote_list(), cut after some texts, so that what a message says after it is not cut off.
template <class Range>
std::string quote_some(const Range& texts) {
  constexpr std::size_t kMostBytes = 2000;
  std::string list;
  for (const std::string_view text : texts) {
    if (list.size() > kMostBytes) return list + ", … (" + std::to_string(texts.size()) + " in all)";
    list += (list.empty() ? "" : ", ") + quote(text);
  }
  return list.empty() ? "(none)" : list;
}

/// All but attributes, names of keypoints, extra data and children.
std::size_t fixed_bytes(const DetectionNode& node) noexcept {
  return kNodeBytes + node.name.size() + kPointBytes * node.coords.size() +
         (node.detection_bbox ? kBoxBytes : 0) + kKeypointBytes * node.keypoints.size() +
         (node.encoding ? kNumberBytes * node.encoding->size() : 0) +
         (node.track_id ? kTrackBytes : 0);
}

/// What a value needs beside the values in it.
std::size_t own_bytes(const Json& value) noexcept {
  const auto* const text = value.get_ptr<const Json::string_t*>();
  return text != nullptr ? text->size() + kTextBytes : kNumberBytes;
}

/// Levels beyond the bound are left out: only nodes that were checked are measured.
std::size_t bytes_of(const Json& value, std::size_t levels_left) {
  std::size_t bytes = own_bytes(value);
  if (levels_left == 0) return bytes;
  if (const auto* const fields = value.get_ptr<const Json::object_t*>())
    for (const auto& [key, field] : *fields)
      bytes += key.size() + kTextBytes + bytes_of(field, levels_left - 1);
  else if (const auto* const elements = value.get_ptr<const Json::array_t*>())
    for (const Json& element : *elements) bytes += bytes_of(element, levels_left - 1);
  return bytes;
}

void add_size(std::span<const DetectionNode> nodes, std::size_t level, NodesSize& size) {
  if (nodes.empty() || level > kMostLevels) return;
  size.nodes += nodes.size();
  size.levels = std::max(size.levels, level);
  for (const DetectionNode& node : nodes) {
    size.bytes += fixed_bytes(node);
    for (const auto& [category, value] : node.attributes) size.bytes += bytes_of(category, value);
    for (const Keypoint& keypoint : node.keypoints) size.bytes += keypoint.name.size();
    if (!node.extra_data.empty()) size.bytes += bytes_of(*node.extra_data, kMostLevels);
    add_size(node.children, level + 1, size);
  }
}

}  // namespace

NodesSize size_of(std::span<const DetectionNode> nodes) {
  NodesSize size;
  add_size(nodes, 1, size);
  return size;
}

OutputCheck::Words::Words(std::vector<std::string> words) : words_(std::move(words)) {
  std::ranges::sort(words_);
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
}

bool OutputCheck::Words::has(std::string_view word) const noexcept {
  constexpr std::size_t kFew = 16;  // texts of other lengths are told apart at once
  if (words_.size() > kFew) return std::ranges::binary_search(words_, word);
  for (const std::string& one : words_)
    if (one == word) return true;
  return false;
}

OutputCheck::OutputCheck(const CapsuleInfo& info)
    : capsule_(info.name),
      names_(info.output_type.detections),
      keypoints_(info.output_type.keypoints),
      sorted_keypoints_(info.output_type.keypoints),
      keys_(info.output_type.extra_data),
      tracked_(info.output_type.tracked),
      encoded_(info.output_type.encoded),
      is_nameless_(names_.empty()),
      is_complete_(names_.list().size() <= 1),
      takes_nodes_(info.input_type.size != NodeDescription::Size::none) {
  for (const auto& [category, values] : info.output_type.attributes)
    categories_.push_back({category, Words(values)});
}

bool OutputCheck::is_keypoint(std::string_view name, std::size_t place) const noexcept {
  return (place < keypoints_.size() && keypoints_[place] == name) || sorted_keypoints_.has(name);
}

void OutputCheck::note(const DetectionNodes& given, PassedOn& passed_on) const {
  note(span_of(given), passed_on, 1);
}

void OutputCheck::note(std::span<const DetectionNode> given, PassedOn& passed_on,
                       std::size_t level) const {
  if (level > kMostLevels) return;
  for (const DetectionNode& node : given) {
    if (!names_.has(node.name)) passed_on.add_name(node.name);
    auto declared = categories_.begin();  // sorted by name, as the node's attributes are
    for (const auto& [name, value] : node.attributes) {
      int order = 1;
      while (declared != categories_.end() && (order = declared->name.compare(name)) < 0)
        ++declared;
      if (declared == categories_.end() || order != 0 || !declared->values.has(value))
        passed_on.add_attribute(name, value);
    }
    for (std::size_t i = 0; i < node.keypoints.size(); ++i)
      if (!is_keypoint(node.keypoints[i].name, i)) passed_on.add_keypoint(node.keypoints[i].name);
    if (node.encoding) passed_on.add_encoding();
    if (node.track_id) passed_on.add_track();
    note(node.children, passed_on, level + 1);
  }
}

/// Goes through one output. Knows the place of the node and of the extra data that it is at, for
/// messages; they are made only for faults.
class OutputCheck::Walk {
 public:
  Walk(const OutputCheck& check, const PassedOn& passed_on, const OutputPolicy& policy,
       std::string& warning)
      : check_(check), passed_on_(passed_on), policy_(policy), warning_(warning) {}

  NodesSize run(std::span<const DetectionNode> nodes) {
    visit(nodes);
    return size_;
  }

 private:
  /// Whether a record can hold the fault, so that InvalidOutput::warn may keep it.
  enum class Fault { kept, refused };

  void visit(std::span<const DetectionNode> nodes);
  void visit(const DetectionNode& node);
  void check_outline(const DetectionNode& node);
  void check_attributes(const DetectionNode& node, bool is_complete);
  void check_keypoints(const DetectionNode& node);
  void check_identity(const DetectionNode& node, bool is_complete);
  void check_extra_data(const DetectionNode& node, bool is_complete);
  void check_json(const Json& value);
  void check_fields(const Json::object_t& fields);
  void check_text(const std::string& text, const char* what, Fault fault);
  void check_bytes() {
    if (size_.bytes > policy_.max_bytes) [[unlikely]]
      refuse_bytes();
  }

  /// Whether a further fault that is kept would be left out. Its text would take time: each of
  /// thousands of nodes may have one.
  bool has_warned() const noexcept {
    return policy_.invalid == InvalidOutput::warn && !warning_.empty();
  }
  void complain(Fault fault, const std::string& complaint);
  [[noreturn]] void refuse_bytes();
  void complain_about_name();
  void complain_about_outline(const DetectionNode& node);
  void complain_about_attribute(const Category* declared, const std::string& name,
                                const std::string& value);
  void complain_about_missing(const Category& category, const DetectionNode& node);
  void complain_about_encoding(const std::vector<float>& encoding);
  std::string node_place() const;
  std::string data_place() const;

  /// A step into extra data: a field, or an element.
  struct Step {
    const std::string* key = nullptr;
    std::size_t index = 0;
  };

  const OutputCheck& check_;
  const PassedOn& passed_on_;
  const OutputPolicy& policy_;
  std::string& warning_;
  NodesSize size_{};
  const DetectionNode* node_ = nullptr;
  std::size_t level_ = 0;  ///< of node_; 0: none yet
  std::array<std::size_t, kMostLevels> path_{};
  std::size_t data_level_ = 0;  ///< how many lists and objects of extra data are open
  std::array<Step, kMostLevels> data_path_{};
};

void OutputCheck::Walk::visit(std::span<const DetectionNode> nodes) {
  if (nodes.empty()) return;
  if (level_ == kMostLevels)
    complain(Fault::refused, "it has children, which are below " + std::to_string(kMostLevels) +
                                 " levels of nodes; give fewer levels");
  size_.nodes += nodes.size();
  if (size_.nodes > policy_.max_nodes)
    throw Error(ErrorCode::invalid_output,
                "capsule " + check_.capsule_ + " gave " + std::to_string(size_.nodes) +
                    " nodes or more for one frame, children included; the host allows " +
                    std::to_string(policy_.max_nodes) +
                    " (OutputPolicy::max_nodes): give fewer, or have the host raise it");
  ++level_;
  size_.levels = std::max(size_.levels, level_);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    path_[level_ - 1] = i;
    node_ = &nodes[i];
    visit(nodes[i]);
    if (!nodes[i].children.empty()) visit(std::span(nodes[i].children));
  }
  --level_;
}

void OutputCheck::Walk::visit(const DetectionNode& node) {
  size_.bytes += fixed_bytes(node);
  check_bytes();
  const bool is_declared = check_.names_.has(node.name);
  if (!is_declared && !passed_on_.has_name(node.name)) [[unlikely]]
    complain_about_name();
  // What must be there: if it takes nodes, only in the first level, since it gets them with all
  // that is below them, and need not change that.
  const bool is_complete = (is_declared || check_.is_nameless_) && check_.is_complete_ &&
                           (level_ == 1 || !check_.takes_nodes_);
  check_outline(node);
  check_attributes(node, is_complete);
  if (!node.keypoints.empty()) check_keypoints(node);
  check_identity(node, is_complete);
  check_extra_data(node, is_complete);
  check_bytes();
}

void OutputCheck::Walk::check_outline(const DetectionNode& node) {
  std::size_t others = 0;  // summed without a branch for each
  for (const cv::Point2d& point : node.coords)
    others += (is_place(point.x) ? 0u : 1u) + (is_place(point.y) ? 0u : 1u);
  const bool is_polygon = node.coords.empty() || node.coords.size() >= 3;
  if (!is_polygon || others > 0) [[unlikely]]
    complain_about_outline(node);
  if (const auto& box = node.detection_bbox;
      box && !(is_place(box->x1) && is_place(box->y1) && is_place(box->x2) && is_place(box->y2)))
    complain(Fault::refused, "detection_bbox x1 " + number_text(box->x1) + ", y1 " +
                                 number_text(box->y1) + ", x2 " + number_text(box->x2) + ", y2 " +
                                 number_text(box->y2) +
                                 " is not a box of pixels; give finite "
                                 "numbers");
}

void OutputCheck::Walk::check_attributes(const DetectionNode& node, bool is_complete) {
  // Both are sorted by name.
  auto declared = check_.categories_.begin();
  const auto end = check_.categories_.end();
  for (const auto& [name, value] : node.attributes) {
    size_.bytes += bytes_of(name, value);
    int order = 0;
    for (; declared != end && (order = declared->name.compare(name)) < 0; ++declared)
      if (is_complete) complain_about_missing(*declared, node);
    const bool is_declared = declared != end && order == 0;
    if (!(is_declared && declared->values.has(value)) && !passed_on_.has_attribute(name, value))
        [[unlikely]]
      complain_about_attribute(is_declared ? &*declared : nullptr, name, value);
    if (is_declared) ++declared;
  }
  if (!is_complete) return;
  for (; declared != end; ++declared) complain_about_missing(*declared, node);
}

void OutputCheck::Walk::check_keypoints(const DetectionNode& node) {
  for (std::size_t i = 0; i < node.keypoints.size(); ++i) {
    const auto& [name, point, z, confidence] = node.keypoints[i];
    size_.bytes += name.size();
    if (!check_.is_keypoint(name, i) && !passed_on_.has_keypoint(name) && !has_warned())
        [[unlikely]]
      complain(Fault::kept,
               "keypoint " + quote(name) + " is not declared; output_type.keypoints are " +
                   quote_some(check_.keypoints_) + suggestion(name, check_.keypoints_));
    if (!is_place(point.x) || !is_place(point.y) || (z && !is_place(*z))) [[unlikely]]
      complain(Fault::refused, "keypoint " + quote(name) + " is at x " + number_text(point.x) +
                                   ", y " + number_text(point.y) +
                                   (z ? ", z " + number_text(*z) : "") +
                                   ", which is no place in pixels; give finite numbers");
    if (confidence && !is_confidence(*confidence)) [[unlikely]]
      complain(std::isfinite(*confidence) ? Fault::kept : Fault::refused,
               "keypoint " + quote(name) + " has the confidence " + number_text(*confidence) +
                   ", which is not within 0 to 1");
  }
}

void OutputCheck::Walk::check_identity(const DetectionNode& node, bool is_complete) {
  if (node.track_id) {
    if (!check_.tracked_ && !passed_on_.has_track()) [[unlikely]]
      complain(Fault::kept,
               "it has a track_id, but output_type.tracked is false; declare it or give none");
  } else if (is_complete && check_.tracked_) [[unlikely]] {
    complain(Fault::kept, "it has no track_id, but output_type.tracked is true; give one");
  }
  if (!node.encoding) {
    if (is_complete && check_.encoded_) [[unlikely]]
      complain(Fault::kept, "it has no encoding, but output_type.encoded is true; give one");
    return;
  }
  if (!check_.encoded_ && !passed_on_.has_encoding()) [[unlikely]]
    complain(Fault::kept,
             "it has an encoding, but output_type.encoded is false; declare it or give none");
  if (!are_finite(*node.encoding)) [[unlikely]]
    complain_about_encoding(*node.encoding);
}

void OutputCheck::Walk::check_extra_data(const DetectionNode& node, bool is_complete) {
  const Json& data = node.extra_data;
  const auto* const fields = data.get_ptr<const Json::object_t*>();
  if (fields == nullptr && !data.is_null()) [[unlikely]]
    complain(Fault::refused,
             std::string("extra_data is JSON of type ") + data.type_name() + "; give an object");
  if (fields != nullptr && !fields->empty()) {
    size_.bytes += own_bytes(data);
    data_level_ = 1;
    check_fields(*fields);
    data_level_ = 0;
    // What DetectionNode::confidence() gives.
    for (const char* const key : {"detection_confidence", "confidence"})
      if (const auto found = fields->find(key);
          found != fields->end() && found->second.is_number()) {
        const double confidence = found->second.get<double>();
        if (!is_confidence(confidence)) [[unlikely]]
          complain(Fault::kept, std::string(key) + " in extra_data is " + number_text(confidence) +
                                    ", which is not within 0 to 1");
        break;
      }
  }
  if (!is_complete) return;
  for (const std::string& key : check_.keys_)
    if (fields == nullptr || !fields->contains(key)) [[unlikely]] {
      std::vector<std::string_view> given;
      if (fields != nullptr)
        for (const auto& [name, value] : *fields) given.emplace_back(name);
      complain(Fault::kept, "extra_data has no " + quote(key) +
                                ", which output_type.extra_data declares; it has " +
                                quote_some(given));
    }
}

void OutputCheck::Walk::check_fields(const Json::object_t& fields) {
  for (const auto& [key, value] : fields) {
    data_path_[data_level_ - 1] = {.key = &key};
    size_.bytes += key.size() + kTextBytes;
    check_text(key, "the key", Fault::refused);  // two such keys could be the same in a record
    check_json(value);
  }
}

void OutputCheck::Walk::check_json(const Json& value) {
  size_.bytes += own_bytes(value);
  check_bytes();
  switch (value.type()) {
    case Json::value_t::object:
    case Json::value_t::array:
      if (data_level_ == kMostLevels)
        complain(Fault::refused, "extra_data has more than " + std::to_string(kMostLevels) +
                                     " levels of lists and objects; give fewer");
      ++data_level_;
      if (const auto* const fields = value.get_ptr<const Json::object_t*>()) {
        check_fields(*fields);
      } else {
        for (std::size_t i = 0; i < value.size(); ++i) {
          data_path_[data_level_ - 1] = {.index = i};
          check_json(value[i]);
        }
      }
      --data_level_;
      break;
    case Json::value_t::string:
      check_text(value.get_ref<const std::string&>(), "the text", Fault::kept);
      break;
    case Json::value_t::number_float:
      if (const double number = value.get<double>(); !std::isfinite(number)) [[unlikely]]
        complain(Fault::refused, "extra_data" + data_place() + " is " + number_text(number) +
                                     ", which JSON cannot express; leave it out");
      break;
    case Json::value_t::binary:
    case Json::value_t::discarded:
      complain(Fault::refused, "extra_data" + data_place() + " is of type " + value.type_name() +
                                   ", which JSON does not have; leave it out");
      break;
    default:
      break;  // null, a boolean or a whole number
  }
}

void OutputCheck::Walk::check_text(const std::string& text, const char* what, Fault fault) {
  check_bytes();
  if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos) [[unlikely]]
    complain(fault, std::string(what) + " at extra_data" + data_place() + " is not UTF-8 at byte " +
                        std::to_string(at) + "; records would have a replacement for it");
}

/// Every complaint ends here. Returns if the fault is kept.
void OutputCheck::Walk::complain(Fault fault, const std::string& complaint) {
  std::string text = "capsule " + check_.capsule_ + " gave node " + node_place() + " " +
                     quote(node_->name) + ": " + complaint;
  if (policy_.invalid == InvalidOutput::error || fault == Fault::refused)
    throw Error(ErrorCode::invalid_output, bounded_text(text));
  if (warning_.empty()) warning_ = bounded_text(text);
}

void OutputCheck::Walk::refuse_bytes() {
  throw Error(ErrorCode::invalid_output,
              "capsule " + check_.capsule_ + " gave some " + std::to_string(size_.bytes) +
                  " bytes or more for one frame, at node " + node_place() + " " +
                  quote(node_->name) + "; the host allows " + std::to_string(policy_.max_bytes) +
                  " (OutputPolicy::max_bytes): give less, or have the host raise it");
}

void OutputCheck::Walk::complain_about_name() {
  if (has_warned()) return;
  if (check_.is_nameless_)
    return complain(Fault::kept,
                    "no node that it was given has this name; output_type.detections lists no "
                    "names, so that nodes keep theirs: list the names that it gives");
  complain(Fault::kept, "its name is not declared; output_type.detections are " +
                            quote_some(check_.names_.list()) +
                            suggestion(node_->name, check_.names_.list()));
}

void OutputCheck::Walk::complain_about_outline(const DetectionNode& node) {
  for (std::size_t i = 0; i < node.coords.size(); ++i)
    if (const cv::Point2d& point = node.coords[i]; !is_place(point.x) || !is_place(point.y))
      complain(Fault::refused, "point " + std::to_string(i) + " of coords is x " +
                                   number_text(point.x) + ", y " + number_text(point.y) +
                                   ", which is no place in pixels; give finite numbers");
  if (node.coords.size() < 3)
    complain(Fault::kept, "coords has " + std::to_string(node.coords.size()) +
                              (node.coords.size() == 1 ? " point" : " points") +
                              ", which is no polygon; give 3 points or more, or none");
}

void OutputCheck::Walk::complain_about_attribute(const Category* declared, const std::string& name,
                                                 const std::string& value) {
  // Two categories that are not UTF-8 could be the same in a record.
  const bool is_text = find_invalid_utf8(name) == std::string_view::npos;
  if (is_text && has_warned()) return;
  if (declared != nullptr) {
    complain(Fault::kept, "attribute " + quote(name) + " is " + quote(value) +
                              ", which is not declared; output_type.attributes[" + quote(name) +
                              "] are " + quote_some(declared->values.list()) +
                              suggestion(value, declared->values.list()));
    return;
  }
  std::vector<std::string_view> names;
  for (const Category& category : check_.categories_) names.emplace_back(category.name);
  complain(is_text ? Fault::kept : Fault::refused,
           "attribute " + quote(name) + " with the value " + quote(value) +
               " is not declared; output_type.attributes are " + quote_some(names) +
               suggestion(name, names));
}

void OutputCheck::Walk::complain_about_missing(const Category& category,
                                               const DetectionNode& node) {
  if (has_warned()) return;
  std::vector<std::string_view> given;
  for (const auto& [name, value] : node.attributes) given.emplace_back(name);
  complain(Fault::kept, "attribute " + quote(category.name) +
                            " is missing, which output_type.attributes declares with the values " +
                            quote_some(category.values.list()) + "; the node has " +
                            quote_some(given));
}

void OutputCheck::Walk::complain_about_encoding(const std::vector<float>& encoding) {
  const auto wrong =
      std::ranges::find_if(encoding, [](float value) { return !std::isfinite(value); });
  complain(Fault::refused, "element " + std::to_string(wrong - encoding.begin()) + " of " +
                               std::to_string(encoding.size()) + " of its encoding is " +
                               number_text(static_cast<double>(*wrong)) + "; give finite numbers");
}

/// A JSON pointer within the output, such as /3/children/0.
std::string OutputCheck::Walk::node_place() const {
  std::string place;
  for (std::size_t i = 0; i < level_; ++i)
    place += (i == 0 ? "/" : "/children/") + std::to_string(path_[i]);
  return place;
}

/// A JSON pointer within the extra data.
std::string OutputCheck::Walk::data_place() const {
  Json::json_pointer place;
  for (std::size_t i = 0; i < data_level_; ++i)
    if (data_path_[i].key != nullptr)
      place /= *data_path_[i].key;
    else
      place /= data_path_[i].index;
  return printable(place.to_string());
}

NodesSize OutputCheck::check(const DetectionNodes& output, const PassedOn& passed_on,
                             const OutputPolicy& policy, std::string& warning) const {
  if (policy.invalid == InvalidOutput::off) {
    if (has_more_levels(output))
      throw Error(ErrorCode::invalid_output,
                  "capsule " + capsule_ + " gave nodes or extra data of more than " +
                      std::to_string(kMostLevels) + " levels; give fewer");
    return {};
  }
  return Walk(*this, passed_on, policy, warning).run(span_of(output));
}

void discard(DetectionNodes nodes) noexcept {
  try {
    std::vector<DetectionNode> rest = std::move(nodes).take();
    while (!rest.empty()) {
      std::vector<DetectionNode> children = std::move(rest.back().children);
      rest.pop_back();
      rest.insert(rest.end(), std::move_iterator(children.begin()),
                  std::move_iterator(children.end()));
    }
  } catch (...) {
    // No memory to flatten the nodes: their own destructors do it, which may need much stack.
  }
}

}  // namespace vcap::detail
