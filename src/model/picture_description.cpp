// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/picture_description.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>

#include <opencv2/core/hal/interface.h>
#include <nlohmann/json.hpp>

#include "model/json_readers.hpp"

namespace vcap {
namespace {

/// By OpenCV's number of the depth.
constexpr std::array<std::string_view, 8> kDepths{"8U",  "8S",  "16U", "16S",
                                                  "32S", "32F", "64F", "16F"};

std::string extent_text(cv::Size size) {
  return std::to_string(size.width) + " × " + std::to_string(size.height);
}

int read_side(const JsonView& json) {
  const std::int64_t side = json.integer();
  if (side < 1 || side > std::numeric_limits<int>::max()) json.fail("a whole number from 1");
  return static_cast<int>(side);
}

PictureSize read_picture_size(const JsonView& json) {
  for (const PictureSize size : {PictureSize::frame, PictureSize::fixed, PictureSize::any})
    if (to_string(size) == json.text()) return size;
  json.fail("frame, fixed or any");
}

}  // namespace

int read_picture_type(const JsonView& json) {
  const std::string& text = json.text();
  const std::size_t channels_at = std::min(text.find('C'), text.size());
  const auto depth = std::ranges::find(kDepths, std::string_view(text).substr(0, channels_at));
  int channels = 0;
  if (channels_at < text.size())
    std::from_chars(text.data() + channels_at + 1, text.data() + text.size(), channels);
  if (depth != kDepths.end() && channels >= 1 && channels <= CV_CN_MAX)
    if (const int type = CV_MAKETYPE(static_cast<int>(depth - kDepths.begin()), channels);
        picture_type_text(type) == text)
      return type;
  json.fail("a type of OpenCV, such as 8UC3 or 32FC1");
}

std::string_view to_string(PictureSize size) noexcept {
  switch (size) {
    case PictureSize::frame:
      return "frame";
    case PictureSize::fixed:
      return "fixed";
    case PictureSize::any:
      return "any";
  }
  return "unknown";
}

std::string picture_type_text(int type) {
  return std::string(kDepths[static_cast<std::size_t>(CV_MAT_DEPTH(type))]) + 'C' +
         std::to_string(CV_MAT_CN(type));
}

std::string to_string(const PictureDescription& description) {
  std::string size = "of any size";
  if (description.size == PictureSize::frame) size = "as large as the frame";
  if (description.size == PictureSize::fixed) size = extent_text(description.fixed_size);
  return description.name + " (" + picture_type_text(description.type) + ", " + size + ")";
}

bool fits(const PictureDescription& given, const PictureDescription& taken) noexcept {
  return given.name == taken.name && given.type == taken.type &&
         (taken.size == PictureSize::any ||
          (given.size == taken.size &&
           (given.size != PictureSize::fixed || given.fixed_size == taken.fixed_size)));
}

PictureDescription read_picture_description(const JsonView& json) {
  PictureDescription description{.name = json["name"].text(),
                                 .type = read_picture_type(json["type"]),
                                 .size = read_picture_size(json["size"])};
  if (description.size == PictureSize::fixed)
    description.fixed_size = {read_side(json["width"]), read_side(json["height"])};
  return description;
}

void to_json(nlohmann::json& json, const PictureDescription& description) {
  json = {{"name", description.name},
          {"type", picture_type_text(description.type)},
          {"size", to_string(description.size)}};
  if (description.size != PictureSize::fixed) return;
  json["width"] = description.fixed_size.width;
  json["height"] = description.fixed_size.height;
}

void from_json(const nlohmann::json& json, PictureDescription& description) {
  description = read_picture_description(JsonView(json));
}

}  // namespace vcap
