// SPDX-License-Identifier: Apache-2.0
#include "records/voc_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "records/xml_file.hpp"

namespace vcap {
namespace {

constexpr std::string_view kRoot = "annotation";
constexpr std::string_view kObject = "annotation/object/";
constexpr std::string_view kPart = "annotation/object/part/";

/// Of a picture, and without a meaning for its objects.
constexpr std::array<std::string_view, 6> kOfPicture{"annotation/path",      "annotation/source",
                                                     "annotation/owner",     "annotation/size",
                                                     "annotation/segmented", "annotation/verified"};
/// Elements that only hold others.
constexpr std::array<std::string_view, 5> kHolders{
    "annotation/object/bndbox", "annotation/object/part/bndbox", "annotation/object/part",
    "annotation/object/attributes", "annotation/object/attributes/attribute"};
constexpr std::array<std::string_view, 4> kSides{"xmin", "ymin", "xmax", "ymax"};
constexpr std::size_t kMostKinds = 20;  // of what is left out

std::string without_blanks_around(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// A name that may be as long as a file.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "…";
}

/// An object or a part of one, as far as it is read.
struct Found {
  std::optional<std::string> name{};
  std::array<std::optional<double>, 4> sides{};  ///< in the order of kSides
};

/// Turns the elements of a file into a VocFile.
class VocParser {
 public:
  explicit VocParser(const InputFile& input)
      : input_(input),
        xml_(input, {.begin = [this](const std::string& path) { begin(path); },
                     .end = [this](const std::string& path,
                                   const std::string& text) { end(path, text); }}) {}

  VocFile read() {
    xml_.read();
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { input_.fail(xml_.place(), message); }

  void begin(const std::string& path) {
    if (path == "annotation/object") {
      object_ = {};
      node_ = {};
    } else if (path == "annotation/object/part") {
      part_ = {};
    } else if (path == "annotation/object/attributes/attribute") {
      category_.reset();
      value_.reset();
    } else if (path.find('/') == std::string::npos && path != kRoot) {
      fail("the root element is " + quote(shortened(path)) +
           "; a file of Pascal VOC has \"annotation\". Leave the file out");
    }
  }

  void end(const std::string& path, const std::string& text) {
    if (path.starts_with(kPart))
      end_within(part_, path.substr(kPart.size()), path, text);
    else if (path.starts_with(kObject))
      end_in_object(path, path.substr(kObject.size()), text);
    else if (path == "annotation/object")
      file_.objects.push_back(finished(object_, std::move(node_)));
    else
      end_of_picture(path, text);
  }

  void end_of_picture(const std::string& path, const std::string& text) {
    if (path == "annotation/folder")
      file_.folder = text;
    else if (path == "annotation/filename")
      file_.filename = text;
    else if (path == "annotation/size/width")
      file_.size.width = side_of_picture(text, "width");
    else if (path == "annotation/size/height")
      file_.size.height = side_of_picture(text, "height");
    else if (path != kRoot && std::ranges::none_of(kOfPicture, [&path](std::string_view known) {
               return path.starts_with(known) &&
                      (path.size() == known.size() || path[known.size()] == '/');
             }))
      leave_out(path.substr(kRoot.size() + 1));
  }

  int side_of_picture(const std::string& text, const char* what) const {
    const std::int64_t value = input_.integer_in(without_blanks_around(text), what, xml_.place());
    if (value < 0 || value > std::numeric_limits<int>::max())
      fail(std::string(what) + " is " + std::to_string(value) + "; it must be from 0 to " +
           std::to_string(std::numeric_limits<int>::max()));
    return static_cast<int>(value);
  }

  void end_in_object(const std::string& path, const std::string& name, const std::string& text) {
    if (name == "difficult") {
      if (is_set(text, "difficult")) node_.extra_data["ignore"] = 1;
    } else if (name == "part") {
      node_.children.push_back(finished(part_, {}));
    } else if (name == "attributes/attribute/name") {
      set(category_, text, "name of the attribute");
    } else if (name == "attributes/attribute/value") {
      set(value_, text, "value of the attribute");
    } else if (name == "attributes/attribute") {
      add_attribute();
    } else if (name == "pose") {
      if (const std::string pose = without_blanks_around(text);
          !pose.empty() && pose != "Unspecified")
        leave_out("pose");
    } else if (name == "truncated" || name == "occluded") {
      if (is_set(text, name)) leave_out(name);
    } else {
      end_within(object_, name, path, text);
    }
  }

  /// The name and the box of an object or a part.
  void end_within(Found& found, const std::string& name, const std::string& path,
                  const std::string& text) {
    if (name == "name") return set(found.name, text, "name");
    for (std::size_t i = 0; i < kSides.size(); ++i)
      if (name == "bndbox/" + std::string(kSides[i]))
        return set(found.sides[i],
                   input_.number_in(without_blanks_around(text), kSides[i], xml_.place()),
                   std::string(kSides[i]));
    if (std::ranges::find(kHolders, path) == kHolders.end())
      leave_out(path.substr(kRoot.size() + 1));
  }

  template <class Value>
  void set(std::optional<Value>& field, Value value, const std::string& what) const {
    if (field) fail("the object has a second " + what + "; an object has one");
    field = std::move(value);
  }

  bool is_set(const std::string& text, const std::string& what) const {
    const std::string value = without_blanks_around(text);
    if (value == "1" || value == "true" || value == "True") return true;
    if (value.empty() || value == "0" || value == "false" || value == "False" ||
        value == "Unspecified")
      return false;
    fail(what + " is " + quote(shortened(value)) + "; it must be 0 or 1");
  }

  void add_attribute() {
    if (!category_ || !value_) fail("the attribute lacks its name or value; give both");
    if (!node_.attributes.emplace(*category_, *value_).second)
      fail("the object has the attribute " + quote(shortened(*category_)) + " twice; give it once");
  }

  /// The node of what has been read. Pixels count from 1, and both ends are inside.
  DetectionNode finished(const Found& found, DetectionNode node) const {
    if (!found.name || found.name->empty()) fail("the object has no name; give it as <name>");
    for (std::size_t i = 0; i < kSides.size(); ++i)
      if (!found.sides[i])
        fail("the object " + quote(shortened(*found.name)) + " has no " + std::string(kSides[i]) +
             "; give xmin, ymin, xmax and ymax in <bndbox>");
    const auto [xmin, ymin, xmax, ymax] =
        std::array{*found.sides[0], *found.sides[1], *found.sides[2], *found.sides[3]};
    if (xmax < xmin || ymax < ymin)
      fail("the box of " + quote(shortened(*found.name)) + " reaches from " + number_text(xmin) +
           ", " + number_text(ymin) + " to " + number_text(xmax) + ", " + number_text(ymax) +
           "; xmax and ymax must not be less than xmin and ymin");
    node.name = *found.name;
    node.coords = rect_to_coords(
        input_.box(xmin - 1, ymin - 1, xmax - xmin + 1, ymax - ymin + 1, xml_.place()));
    return node;
  }

  void leave_out(const std::string& element) {
    const std::string what = shortened(element);
    if (file_.left_out.contains(what) || file_.left_out.size() < kMostKinds)
      ++file_.left_out[what];
    else
      ++file_.left_out["others"];
  }

  const InputFile& input_;
  VocFile file_;
  Found object_, part_;
  DetectionNode node_;  ///< the rest of the object
  std::optional<std::string> category_, value_;
  XmlFile xml_;
};

}  // namespace

VocFile read_voc_file(const InputFile& input) { return VocParser(input).read(); }

}  // namespace vcap
