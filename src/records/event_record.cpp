// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/event_record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/file_descriptor.hpp"
#include "files/strict_json.hpp"
#include "model/json_view.hpp"
#include "records/event_line.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::string_view kEventSchema = "vcap.event/1";

constexpr std::array kEventKinds{EventKind::enter, EventKind::leave, EventKind::stay,
                                 EventKind::cross, EventKind::count, EventKind::attribute};
constexpr std::array kEventEnds{EventEnd::momentary,  EventEnd::left,          EventEnd::track_lost,
                                EventEnd::over,       EventEnd::discontinuity, EventEnd::stream_end,
                                EventEnd::interrupted};
constexpr std::array kPhases{EventChange::Phase::begin, EventChange::Phase::end};

template <class Value, std::size_t Size>
Value read_value(const JsonView& json, const std::array<Value, Size>& values) {
  std::vector<std::string_view> known;
  for (const Value value : values) {
    if (json.value() == to_string(value)) return value;
    known.push_back(to_string(value));
  }
  json.fail("one of " + quote_list(known));
}

template <class Json>
Json moment_to_json(const EventMoment& moment) {
  Json json = Json::object();
  json["frame_index"] = moment.frame_index;
  json["pts_ns"] = moment.pts.count();
  return json;
}

EventMoment read_moment(const JsonView& json) {
  return {json["frame_index"].integer(), std::chrono::nanoseconds(json["pts_ns"].integer())};
}

std::string text_of(const JsonView& json, const char* key) {
  const auto field = json.find(key);
  return field ? field->text() : std::string();
}

BoundingBox read_box(const JsonView& json) {
  const cv::Point2d corner(json["x"].number(), json["y"].number());
  return {corner.x, corner.y, corner.x + json["w"].number(), corner.y + json["h"].number()};
}

Uuid read_uuid(const JsonView& json) {
  try {
    return Uuid::parse(json.text());
  } catch (const InvalidArgument&) {
    json.fail("a UUID");
  }
}

/// The schema is written once, here, for both JSON types, as that of frame records.
template <class Json>
Json event_to_json(const EventRecord& record) {
  const Event& event = record.event;
  Json json = Json::object();
  const auto add_text = [&json](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  json["schema"] = kEventSchema;
  json["phase"] = to_string(record.phase);
  json["id"] = event.id.to_string();
  json["stream_id"] = record.stream_id;
  json["kind"] = to_string(event.kind);
  json["rule"] = event.rule;
  add_text("zone", event.zone);
  add_text("line", event.line);
  add_text("direction", event.direction);
  if (event.kind == EventKind::attribute) {
    json["category"] = event.category;
    json["from"] = event.from;
    json["to"] = event.to;
  }
  if (event.count) json["count"] = *event.count;
  if (event.track_id) json["track_id"] = event.track_id->to_string();
  add_text("object", event.object);
  if (event.bbox) {
    Json& box = json["bbox"];
    box["x"] = event.bbox->x1;
    box["y"] = event.bbox->y1;
    box["w"] = event.bbox->width();
    box["h"] = event.bbox->height();
  }
  if (event.confidence) json["confidence"] = *event.confidence;
  json["begin"] = moment_to_json<Json>(event.begin);
  if (event.since) json["since"] = moment_to_json<Json>(*event.since);
  if (event.end) json["end"] = moment_to_json<Json>(*event.end);
  if (event.reason) json["reason"] = to_string(*event.reason);
  add_text("snapshot", record.snapshot);
  add_text("clip", record.clip);
  if (record.clip_start) json["clip_start_ns"] = record.clip_start->count();
  if (record.clip_cut) json["clip_cut"] = true;
  return json;
}

EventRecord read_record(const JsonView& json) {
  if (json["schema"].value() != kEventSchema) json["schema"].fail(quote(kEventSchema));
  EventRecord record{.stream_id = json["stream_id"].text(),
                     .phase = read_value(json["phase"], kPhases),
                     .event = {.id = read_uuid(json["id"]),
                               .kind = read_value(json["kind"], kEventKinds),
                               .rule = json["rule"].text(),
                               .begin = read_moment(json["begin"])},
                     .snapshot = text_of(json, "snapshot"),
                     .clip = text_of(json, "clip")};
  Event& event = record.event;
  event.zone = text_of(json, "zone");
  event.line = text_of(json, "line");
  event.direction = text_of(json, "direction");
  event.category = text_of(json, "category");
  event.from = text_of(json, "from");
  event.to = text_of(json, "to");
  event.object = text_of(json, "object");
  if (const auto track = json.find("track_id")) event.track_id = read_uuid(*track);
  if (const auto box = json.find("bbox")) event.bbox = read_box(*box);
  if (const auto confidence = json.find("confidence")) event.confidence = confidence->number();
  if (const auto count = json.find("count")) event.count = count->integer();
  if (const auto since = json.find("since")) event.since = read_moment(*since);
  if (const auto end = json.find("end")) event.end = read_moment(*end);
  if (const auto reason = json.find("reason")) event.reason = read_value(*reason, kEventEnds);
  if (const auto start = json.find("clip_start_ns"))
    record.clip_start = std::chrono::nanoseconds(start->integer());
  if (const auto cut = json.find("clip_cut")) record.clip_cut = cut->boolean();
  const bool is_end = record.phase == EventChange::Phase::end;
  if (is_end != event.reason.has_value())
    json.complain(is_end ? "an end has no \"reason\"" : "a begin has a \"reason\"");
  return record;
}

}  // namespace

void to_json(nlohmann::json& json, const EventRecord& record) {
  json = event_to_json<nlohmann::json>(record);
}

void from_json(const nlohmann::json& json, EventRecord& record) {
  record = read_record(JsonView(json));
}

std::string event_line(const EventRecord& record) {
  return event_to_json<nlohmann::ordered_json>(record).dump(
             -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         '\n';
}

std::size_t walk_event_lines(std::string_view text, const EventLineVisitor& visitor) {
  std::size_t whole = 0;
  for (std::size_t line = 1; whole < text.size(); ++line) {
    const std::size_t end = text.find('\n', whole);
    if (end == text.npos) break;
    std::optional<EventRecord> record;
    try {
      record = read_record(JsonView(parse_strictly(text.substr(whole, end - whole))));
    } catch (const InvalidArgument&) {
      visitor.on_damaged(line);
    }
    if (record) visitor.on_record(*std::move(record));
    whole = end + 1;
  }
  return whole;
}

EventJournal read_event_journal(const std::string& path) {
  std::string text;
  try {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file) throw std::system_error(errno, std::generic_category());
    text = read_from_start(file.get());
  } catch (const std::system_error& error) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "event journal " + path + " cannot be read: " + error.code().message() +
                              "; check the path and its permissions");
  }
  EventJournal journal;
  const std::size_t whole = walk_event_lines(
      text, {.on_record = [&](EventRecord record) { journal.records.push_back(std::move(record)); },
             .on_damaged = [&](std::size_t line) { journal.damaged_lines.push_back(line); }});
  journal.is_torn = whole < text.size();
  return journal;
}

std::string read_from_start(int file) {
  std::string text;
  constexpr std::size_t kBlock = std::size_t{256} << 10;
  while (true) {
    const std::size_t size = text.size();
    text.resize(size + kBlock);
    const ssize_t count = ::pread(file, text.data() + size, kBlock, static_cast<off_t>(size));
    text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
    if (count == 0) return text;
  }
}

std::vector<EventRecord> EventJournal::open() const {
  std::set<Uuid> ended;
  for (const EventRecord& record : records)
    if (record.phase == EventChange::Phase::end) ended.insert(record.event.id);
  std::vector<EventRecord> open;
  for (const EventRecord& record : records)
    if (record.phase == EventChange::Phase::begin && !ended.contains(record.event.id))
      open.push_back(record);
  return open;
}

}  // namespace vcap
