// SPDX-License-Identifier: Apache-2.0
#include "records/recording_line.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "files/strict_json.hpp"
#include "model/json_readers.hpp"
#include "records/record_line.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Objects of the last step are those of the record.
nlohmann::json steps_to_json(const std::vector<FrameRecord::Step>& steps) {
  nlohmann::json list = nlohmann::json::array();
  for (const FrameRecord::Step& step : steps) {
    nlohmann::json& json = list.emplace_back(nlohmann::json{{"capsule", step.capsule}});
    if (step.errors > 0) json["errors"] = step.errors;
    if (step.warnings > 0) json["warnings"] = step.warnings;
    if (step.pictures > 0) json["pictures"] = step.pictures;
    if (&step != &steps.back()) json["objects"] = step.objects;
  }
  return list;
}

std::size_t count_in(const JsonView& json, const char* key, std::size_t most) {
  const auto found = json.find(key);
  if (!found) return 0;
  const std::int64_t count = found->integer();
  if (count < 0 || static_cast<std::size_t>(count) > most)
    found->fail("a number from 0 to " + std::to_string(most) + ", as many as the record has");
  return static_cast<std::size_t>(count);
}

std::int64_t whole_number_in(const JsonView& json, std::int64_t least) {
  const std::int64_t value = json.integer();
  if (value < least) json.fail("a whole number from " + std::to_string(least));
  return value;
}

Discontinuity recorded_discontinuity(const JsonView& json) {
  for (const Discontinuity one : {Discontinuity::start, Discontinuity::gap, Discontinuity::seek,
                                  Discontinuity::reconnect, Discontinuity::loop})
    if (to_string(one) == json.text()) return one;
  json.fail("start, gap, seek, reconnect or loop");
}

/// Leaves in the record what it held after the last of the capsules that stand in.
void go_back(const JsonView& json, const std::set<std::string>& stand_ins, FrameRecord& record) {
  const std::vector<JsonView> steps = json["steps"].elements();
  const auto last = std::find_if(steps.rbegin(), steps.rend(), [&](const JsonView& step) {
    return stand_ins.contains(step["capsule"].text());
  });
  if (last == steps.rend()) {
    record.objects.clear();
    record.errors.clear();
    record.warnings.clear();
    record.pictures.clear();
    return;
  }
  record.errors.resize(count_in(*last, "errors", record.errors.size()));
  record.warnings.resize(count_in(*last, "warnings", record.warnings.size()));
  record.pictures.resize(count_in(*last, "pictures", record.pictures.size()));
  const auto objects = last->find("objects");
  if (!objects) return;
  record.objects.clear();
  for (const JsonView& object : objects->elements())
    record.objects.push_back(read_detection_node(object));
}

/// Whether the objects of the record itself are wanted: those of the last step.
bool needs_last_objects(const nlohmann::json& json, const std::set<std::string>& stand_ins) {
  const auto steps = json.find("steps");
  if (steps == json.end() || !steps->is_array() || steps->empty()) return true;
  const nlohmann::json& last = steps->back();
  const auto name = last.is_object() ? last.find("capsule") : last.end();
  return last.is_object() && name != last.end() && name->is_string() &&
         stand_ins.contains(name->get_ref<const std::string&>());
}

}  // namespace

std::string recording_line(const FrameRecord& record, const std::optional<PicturePlace>& picture,
                           const std::vector<LostFrames>& lost) {
  nlohmann::json rest = nlohmann::json::object();
  rest["steps"] = steps_to_json(record.steps);
  for (const Discontinuity one : record.discontinuities)
    rest["discontinuities"].push_back(to_string(one));
  if (picture)
    rest["picture"] = {
        {"offset", picture->offset}, {"size", picture->size}, {"crc32", picture->crc32}};
  for (const LostFrames& one : lost)
    rest["lost"].push_back({{"frame_index", one.frame_index}, {"count", one.count}});
  std::string line = record_line(record);
  line.pop_back();  // the newline
  const std::string more = rest.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return "{\"record\":" + std::move(line) + "," + more.substr(1) + "\n";
}

RecordingLine parse_recording_line(std::string_view line, const std::set<std::string>& stand_ins) {
  nlohmann::json json = parse_strictly(line, kMostRecordLevels + 2);
  // Most of the work of reading a record is its objects.
  if (json.is_object() && json.contains("record") && json["record"].is_object() &&
      !needs_last_objects(json, stand_ins))
    json["record"]["objects"] = nlohmann::json::array();
  const JsonView view(json);
  auto record = view["record"].value().get<FrameRecord>();
  go_back(view, stand_ins, record);
  RecordingLine read{.frame = std::move(record.frame),
                     .resolution = record.resolution,
                     .recorded = {.drops = std::move(record.drops),
                                  .option_changes = std::move(record.option_changes),
                                  .replacements = std::move(record.replacements),
                                  .config_changes = std::move(record.config_changes),
                                  .objects = std::move(record.objects),
                                  .errors = std::move(record.errors),
                                  .warnings = std::move(record.warnings),
                                  .pictures = std::move(record.pictures)}};
  if (const auto list = view.find("discontinuities"))
    for (const JsonView& one : list->elements())
      read.recorded.discontinuities.push_back(recorded_discontinuity(one));
  if (const auto place = view.find("picture"))
    read.picture = {.offset = whole_number_in((*place)["offset"], 0),
                    .size = whole_number_in((*place)["size"], 1),
                    .crc32 = static_cast<std::uint32_t>(whole_number_in((*place)["crc32"], 0))};
  if (const auto list = view.find("lost"))
    for (const JsonView& one : list->elements())
      read.lost.push_back({.frame_index = whole_number_in(one["frame_index"], 0),
                           .count = whole_number_in(one["count"], 1)});
  return read;
}

}  // namespace vcap
