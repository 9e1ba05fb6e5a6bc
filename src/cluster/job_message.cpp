// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_message.hpp"

#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "capsule/capsule_info_json.hpp"
#include "cluster/message_json.hpp"
#include "files/digest.hpp"
#include "model/json_view.hpp"
#include "records/record_counts.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using std::chrono::nanoseconds;

constexpr const char* kJob = "vcap.cluster-job/1";
constexpr const char* kSlice = "vcap.slice/1";
constexpr const char* kResult = "vcap.slice-result/1";
constexpr const char* kPlan = "vcap.plan/1";
/// A task's id has at most 256 bytes.
constexpr std::size_t kLongestVideo = 160;

constexpr std::array<std::pair<JobMessage::State, std::string_view>, 3> kJobStates{
    {{JobMessage::State::running, "running"},
     {JobMessage::State::paused, "paused"},
     {JobMessage::State::ended, "ended"}}};

constexpr std::array kInvalidOutputs{InvalidOutput::error, InvalidOutput::warn, InvalidOutput::off};

template <class Value>
Value among(const auto& values, const std::string& text, const auto& text_of) {
  for (const auto& value : values)
    if (text_of(value) == text) return value;
  refuse_message(kJob, "there is no " + quote(text));
}

/// Of a message whose form is right. `read` may throw for JSON and for its values.
template <class Read>
auto checked(const char* schema, const Read& read) {
  try {
    return read_message(schema, read);
  } catch (const InvalidArgument& error) {
    refuse_message(schema, error.what());
  }
}

std::string short_digest(const std::string& text) {
  return sha256(std::as_bytes(std::span(text))).substr(0, 16);
}

json video_json(const Job::Video& video) {
  json result = {{"id", video.id},
                 {"source", video.source},
                 {"options", video.options},
                 {"config", video.config}};
  if (video.capsules) result["capsules"] = *video.capsules;
  return result;
}

std::map<std::string, JsonValue> read_values(const json& values) {
  std::map<std::string, JsonValue> result;
  for (const auto& [capsule, value] : values.items()) result.emplace(capsule, value);
  return result;
}

}  // namespace

std::string_view to_string(JobMessage::State state) noexcept {
  for (const auto& [known, text] : kJobStates)
    if (known == state) return text;
  return {};
}

std::string to_message(const JobMessage& message) {
  const Job& job = message.job;
  json result = {{"schema", kJob},
                 {"state", to_string(message.state)},
                 {"name", message.name},
                 {"priority", message.priority},
                 {"submitted_ns", message.submitted.count()},
                 {"ended_ns", message.ended.count()},
                 {"videos", message.videos},
                 {"settled_before", message.settled_before},
                 {"shared", message.shared},
                 {"capsules", json::array()},
                 {"outputs",
                  {{"jsonl", job.outputs.jsonl},
                   {"video", job.outputs.video},
                   {"picture", job.outputs.picture},
                   {"draw", job.outputs.draw},
                   {"summary", job.outputs.summary}}},
                 {"slices", job.slices},
                 {"attempts", job.attempts},
                 {"invalid_output", to_string(job.invalid_output)},
                 {"max_pixels", job.max_pixels},
                 {"capsule_deadline_ns", message.capsule_deadline.count()},
                 {"first_call_deadline_ns", message.first_call_deadline.count()}};
  if (job.max_frames) result["max_frames"] = *job.max_frames;
  for (const JobMessage::CapsuleObject& capsule : message.capsules) {
    json& added = result["capsules"].emplace_back(
        json{{"object", capsule.object}, {"config", capsule.config}});
    if (capsule.stencil) added["stencil"] = stencil_json(*capsule.stencil);
  }
  return result.dump();
}

JobMessage read_job_message(const std::string& message) {
  const json parsed = parse_message(message, kJob);
  return checked(kJob, [&] {
    JobMessage result{
        .state = among<std::pair<JobMessage::State, std::string_view>>(
                     kJobStates, parsed.at("state"), [](const auto& state) { return state.second; })
                     .first,
        .name = parsed.at("name"),
        .priority = parsed.at("priority"),
        .submitted = nanoseconds(parsed.at("submitted_ns").get<std::int64_t>()),
        .ended = nanoseconds(parsed.at("ended_ns").get<std::int64_t>()),
        .videos = parsed.at("videos"),
        .settled_before = parsed.value("settled_before", std::uint64_t{0}),
        .shared = parsed.at("shared"),
        .capsule_deadline = nanoseconds(parsed.at("capsule_deadline_ns").get<std::int64_t>()),
        .first_call_deadline =
            nanoseconds(parsed.at("first_call_deadline_ns").get<std::int64_t>())};
    if (!parsed.at("capsules").is_array()) refuse_message(kJob, "its capsules are no list");
    for (const json& capsule : parsed["capsules"]) {
      JobMessage::CapsuleObject added{.object = capsule.at("object"),
                                      .config = capsule.at("config")};
      if (capsule.contains("stencil")) added.stencil = read_stencil(JsonView(capsule["stencil"]));
      result.capsules.push_back(std::move(added));
    }
    const json& outputs = parsed.at("outputs");
    result.job.outputs = {.jsonl = outputs.at("jsonl"),
                          .video = outputs.at("video"),
                          .picture = outputs.at("picture"),
                          .draw = outputs.at("draw"),
                          .summary = outputs.at("summary")};
    result.job.slices = parsed.at("slices");
    result.job.attempts = parsed.at("attempts");
    result.job.invalid_output =
        among<InvalidOutput>(kInvalidOutputs, parsed.at("invalid_output"),
                             [](InvalidOutput choice) { return to_string(choice); });
    result.job.max_pixels = parsed.at("max_pixels");
    if (parsed.contains("max_frames"))
      result.job.max_frames = parsed["max_frames"].get<std::int64_t>();
    if (result.job.slices < 0 || result.job.attempts < 1 || result.job.max_pixels < 1 ||
        result.job.max_frames.value_or(1) < 1 || result.capsule_deadline.count() < 0 ||
        result.first_call_deadline.count() < 0 || result.capsules.empty())
      refuse_message(kJob, "a number is out of range, or there is no capsule");
    return result;
  });
}

std::string SliceTask::video_id() const {
  const std::string name = video.id.size() <= kLongestVideo ? video.id : short_digest(video.id);
  return name + '@' + short_digest(json{stamp, video_json(video)}.dump());
}

std::string SliceTask::id() const {
  return video_id() + '/' + std::to_string(plan) + '/' + std::to_string(slice);
}

json to_payload(const SliceTask& task) {
  return {{"schema", kSlice},
          {"video", video_json(task.video)},
          {"stamp", task.stamp},
          {"plan", task.plan},
          {"slice", task.slice}};
}

SliceTask read_slice_task(const json& payload) {
  return checked(kSlice, [&] {
    if (payload.at("schema") != kSlice)
      refuse_message(kSlice, "its schema is " + payload["schema"].dump());
    const json& video = payload.at("video");
    SliceTask task{.video = {.id = video.at("id"),
                             .source = video.at("source"),
                             .options = read_values(video.at("options")),
                             .config = read_values(video.at("config"))},
                   .stamp = payload.at("stamp"),
                   .plan = payload.at("plan"),
                   .slice = payload.at("slice")};
    if (video.contains("capsules"))
      task.video.capsules = video["capsules"].get<std::vector<std::string>>();
    if (task.plan < 1) refuse_message(kSlice, "the number of its plan is below 1");
    return task;
  });
}

json to_result(const SliceResult& result) {
  json files = json::array();
  for (const SliceResult::File& file : result.files)
    files.push_back(file.text ? json{{"name", file.name}, {"text", *file.text}}
                              : json{{"name", file.name}, {"object", file.object}});
  return {{"schema", kResult},
          {"video", result.video},
          {"plan", result.plan},
          {"slice", result.slice},
          {"superseded", result.is_superseded},
          {"counts", result.counts},
          {"files", std::move(files)}};
}

SliceResult read_slice_result(const json& result) {
  return checked(kResult, [&] {
    if (result.at("schema") != kResult)
      refuse_message(kResult, "its schema is " + result["schema"].dump());
    SliceResult read{.video = result.at("video"),
                     .plan = result.at("plan"),
                     .slice = result.at("slice"),
                     .is_superseded = result.at("superseded"),
                     .counts = result.at("counts")};
    if (!read.is_superseded) read.counts.get<RecordCounts>();  // throws if they are none
    if (!result.at("files").is_array()) refuse_message(kResult, "its files are no list");
    for (const json& file : result["files"]) {
      SliceResult::File& added = read.files.emplace_back(SliceResult::File{file.at("name")});
      if (file.contains("text"))
        added.text = file["text"].get<std::string>();
      else
        added.object = file.at("object");
    }
    for (const SliceResult::File& file : read.files)
      if (file.name.find('/') != std::string::npos || file.name.starts_with('.'))
        refuse_message(kResult, "the name of a file is " + quote(file.name));
    return read;
  });
}

std::string to_message(const PlanMessage& plan) {
  json message = {{"schema", kPlan}, {"number", plan.number}, {"slices", plan.slices}};
  if (plan.index) message["index"] = *plan.index;
  return message.dump();
}

PlanMessage read_plan(const std::string& message) {
  const json parsed = parse_message(message, kPlan);
  return checked(kPlan, [&] {
    PlanMessage plan{.number = parsed.at("number"), .slices = parsed.at("slices")};
    const bool is_valid = plan.slices.is_array() && !plan.slices.empty() && plan.number >= 1;
    if (!is_valid) refuse_message(kPlan, "it has no slices, or its number is below 1");
    for (const json& slice : plan.slices) {
      const bool is_range = slice.is_array() && slice.size() == 2 && slice[0].is_number_integer() &&
                            slice[1].is_number_integer() && slice[0] >= 0 && slice[0] < slice[1];
      if (slice != "all" && !is_range) refuse_message(kPlan, "a slice is " + slice.dump());
    }
    if (parsed.contains("index")) plan.index = parsed["index"].get<ObjectReference>();
    return plan;
  });
}

}  // namespace vcap
