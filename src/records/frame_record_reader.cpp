// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include <nlohmann/json.hpp>

#include "model/json_readers.hpp"
#include "vcap/base/error.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {
namespace {

int read_int(const JsonView& json, std::int64_t least) {
  const std::int64_t value = json.integer();
  if (value < least || value > std::numeric_limits<int>::max())
    json.fail("a whole number of 32 bits from " + std::to_string(least));
  return static_cast<int>(value);
}

std::int64_t read_count(const JsonView& json, std::int64_t least) {
  const std::int64_t value = json.integer();
  if (value < least) json.fail("a whole number from " + std::to_string(least));
  return value;
}

cv::Size read_extent(const JsonView& json) {
  return {read_int(json["width"], 0), read_int(json["height"], 0)};
}

Discontinuity read_discontinuity(const JsonView& json) {
  for (const Discontinuity one :
       {Discontinuity::none, Discontinuity::start, Discontinuity::gap, Discontinuity::seek,
        Discontinuity::reconnect, Discontinuity::loop})
    if (to_string(one) == json.text()) return one;
  json.fail("none, start, gap, seek, reconnect or loop");
}

std::vector<FrameRecord::CapsuleError> read_capsule_errors(const JsonView& json) {
  std::vector<FrameRecord::CapsuleError> errors;
  for (const JsonView& one : json.elements())
    errors.push_back({.capsule = one["capsule"].text(),
                      .code = one["code"].text(),
                      .message = one["message"].text()});
  return errors;
}

OptionValue read_option_value(const JsonView& json) {
  const nlohmann::json& value = json.value();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return json.number();
  if (value.is_number_integer()) return json.integer();
  json.fail("a number, text, true or false");
}

Frame read_frame(const JsonView& json) {
  Frame frame{.index = read_count(json["frame_index"], 0)};
  if (const auto pts = json.find("pts_ns")) frame.pts = std::chrono::nanoseconds(pts->integer());
  if (const auto why = json.find("discontinuity")) frame.discontinuity = read_discontinuity(*why);
  if (const auto is_null = json.find("null")) frame.is_null = is_null->boolean();
  if (const auto file = json.find("source_file")) frame.source_file = file->text();
  return frame;
}

void read_changes(const JsonView& json, FrameRecord& record) {
  if (const auto list = json.find("option_changes"))
    for (const JsonView& one : list->elements())
      record.option_changes.push_back({.capsule = one["capsule"].text(),
                                       .option = one["option"].text(),
                                       .value = read_option_value(one["value"])});
  if (const auto list = json.find("replacements"))
    for (const JsonView& one : list->elements())
      record.replacements.push_back(
          {.capsule = one["capsule"].text(),
           .from_version = read_int(one["from_version"], std::numeric_limits<int>::min()),
           .to_version = read_int(one["to_version"], std::numeric_limits<int>::min())});
  if (const auto list = json.find("config_changes"))
    for (const JsonView& one : list->elements()) {
      const auto keep_state = one.find("keep_state");
      if (!one["config"].value().is_object()) one["config"].fail("an object");
      record.config_changes.push_back({.capsule = one["capsule"].text(),
                                       .config = one["config"].value(),
                                       .keep_state = !keep_state || keep_state->boolean()});
    }
}

void read_lists(const JsonView& json, FrameRecord& record) {
  for (const JsonView& object : json["objects"].elements())
    record.objects.push_back(read_detection_node(object));
  if (const auto list = json.find("pictures"))
    for (const JsonView& one : list->elements())
      record.pictures.push_back({.name = one["name"].text(),
                                 .type = read_picture_type(one["type"]),
                                 .size = read_extent(one)});
  if (const auto list = json.find("drops"))
    for (const JsonView& one : list->elements()) {
      const auto count = one.find("count");
      record.drops.push_back({.frame_index = read_count(one["frame_index"], 0),
                              .reason = one["reason"].text(),
                              .count = count ? read_count(*count, 1) : 1});
    }
  if (const auto list = json.find("errors")) record.errors = read_capsule_errors(*list);
  if (const auto list = json.find("warnings")) record.warnings = read_capsule_errors(*list);
  read_changes(json, record);
}

}  // namespace

void from_json(const nlohmann::json& json, FrameRecord& record) {
  const JsonView view(json);
  if (const auto schema = view.find("schema"); schema && schema->text() != "vcap.frame/1")
    schema->fail("the schema vcap.frame/1");
  FrameRecord read{.stream_id = view["stream_id"].text(), .frame = read_frame(view)};
  if (const auto group = view.find("group")) read.group = read_count(*group, 0);
  if (const auto extent = view.find("resolution")) read.resolution = read_extent(*extent);
  read_lists(view, read);
  record = std::move(read);
}

}  // namespace vcap
