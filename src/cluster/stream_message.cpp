// SPDX-License-Identifier: Apache-2.0
#include "cluster/stream_message.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "cluster/message_json.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr const char* kStream = "vcap.stream/1";
constexpr const char* kOwner = "vcap.owner/1";
constexpr const char* kWorker = "vcap.worker/1";
constexpr const char* kOrder = "vcap.order/1";

constexpr std::array<std::pair<OwnerMessage::State, std::string_view>, 4> kOwnerStates{
    {{OwnerMessage::State::running, "running"},
     {OwnerMessage::State::released, "released"},
     {OwnerMessage::State::ended, "ended"},
     {OwnerMessage::State::quarantined, "quarantined"}}};

/// More that one worker says it has do not count.
constexpr std::size_t kMostSlots = 4096;

/// A load or a capacity.
double read_cores(const char* schema, const json& value) {
  const double cores = value.get<double>();
  if (!std::isfinite(cores) || cores < 0)
    refuse_message(schema, "a number of cores is " + value.dump() + ", but must be >= 0");
  return cores;
}

json object_in(const char* schema, const json& value) {
  if (!value.is_object()) refuse_message(schema, "it has no object where one must be");
  return value;
}

}  // namespace

bool StreamMessage::CapsuleObject::operator==(const CapsuleObject& other) const {
  return name == other.name && object.sha256 == other.object.sha256 && config == other.config &&
         options == other.options && stream_config == other.stream_config;
}

std::string to_message(const StreamMessage& stream) {
  json capsules = json::array();
  for (const StreamMessage::CapsuleObject& capsule : stream.capsules)
    capsules.push_back({{"name", capsule.name},
                        {"object", capsule.object},
                        {"config", capsule.config},
                        {"options", capsule.options},
                        {"stream_config", capsule.stream_config}});
  return json{{"schema", kStream},
              {"removed", stream.is_removed},
              {"source", stream.source},
              {"capsules", std::move(capsules)},
              {"labels", stream.labels},
              {"load", stream.load},
              {"keep_every", stream.keep_every},
              {"capsule_deadline_ns", stream.capsule_deadline.count()},
              {"silence_limit_ms", stream.silence_limit.count()},
              {"max_pixels", stream.max_pixels}}
      .dump();
}

StreamMessage read_stream_message(const std::string& message) {
  const json parsed = parse_message(message, kStream);
  return read_message(kStream, [&] {
    StreamMessage stream{
        .is_removed = parsed.at("removed"),
        .source = parsed.at("source"),
        .labels = parsed.at("labels"),
        .load = read_cores(kStream, parsed.at("load")),
        .keep_every = parsed.at("keep_every"),
        .capsule_deadline = nanoseconds(parsed.at("capsule_deadline_ns").get<std::int64_t>()),
        .silence_limit = milliseconds(parsed.at("silence_limit_ms").get<std::int64_t>()),
        .max_pixels = parsed.at("max_pixels")};
    if (!parsed.at("capsules").is_array() || parsed["capsules"].empty())
      refuse_message(kStream, "it has no capsules");
    for (const json& capsule : parsed["capsules"])
      stream.capsules.push_back({.name = capsule.at("name"),
                                 .object = capsule.at("object"),
                                 .config = object_in(kStream, capsule.at("config")),
                                 .options = object_in(kStream, capsule.at("options")),
                                 .stream_config = object_in(kStream, capsule.at("stream_config"))});
    if (stream.keep_every < 1 || stream.max_pixels < 1 || stream.capsule_deadline.count() < 0 ||
        stream.silence_limit.count() < 1)
      refuse_message(kStream, "a number is out of range");
    return stream;
  });
}

std::string to_message(const OwnerMessage& owner) {
  std::string_view state;
  for (const auto& [known, text] : kOwnerStates)
    if (known == owner.state) state = text;
  json result = {{"schema", kOwner},         {"state", state},        {"worker", owner.worker},
                 {"session", owner.session}, {"epoch", owner.epoch},  {"stream", owner.stream},
                 {"deaths", owner.deaths},   {"reason", owner.reason}};
  if (owner.load) result["load"] = *owner.load;
  if (owner.checkpoint)
    result["checkpoint"] = {{"object", owner.checkpoint->object},
                            {"frame_index", owner.checkpoint->frame_index}};
  return result.dump();
}

OwnerMessage read_owner_message(const std::string& message) {
  const json parsed = parse_message(message, kOwner);
  return read_message(kOwner, [&] {
    OwnerMessage owner{.worker = parsed.at("worker"),
                       .session = parsed.at("session"),
                       .epoch = parsed.at("epoch"),
                       .stream = parsed.at("stream"),
                       .deaths = parsed.at("deaths"),
                       .reason = parsed.at("reason")};
    bool is_known = false;
    for (const auto& [state, text] : kOwnerStates) {
      if (parsed.at("state") != text) continue;
      owner.state = state;
      is_known = true;
    }
    if (!is_known) refuse_message(kOwner, "there is no state " + parsed["state"].dump());
    if (parsed.contains("load")) owner.load = read_cores(kOwner, parsed["load"]);
    if (parsed.contains("checkpoint"))
      owner.checkpoint = {.object = parsed["checkpoint"].at("object"),
                          .frame_index = parsed["checkpoint"].at("frame_index")};
    return owner;
  });
}

std::string to_message(const WorkerMessage& worker) {
  json result = {{"schema", kWorker},
                 {"session", worker.session},
                 {"ended", worker.has_ended},
                 {"host", worker.host},
                 {"version", worker.version},
                 {"lease_ns", worker.lease.count()},
                 {"capacity", worker.capacity},
                 {"labels", worker.labels},
                 {"unfit", worker.unfit},
                 {"troubles", worker.troubles},
                 {"statistics", worker.statistics}};
  if (worker.slots > 0) result["slots"] = worker.slots;
  if (!worker.view.empty()) result["view"] = worker.view;
  return result.dump();
}

WorkerMessage read_worker_message(const std::string& message) {
  const json parsed = parse_message(message, kWorker);
  return read_message(kWorker, [&] {
    WorkerMessage worker{.session = parsed.at("session"),
                         .has_ended = parsed.at("ended"),
                         .host = parsed.at("host"),
                         .version = parsed.at("version"),
                         .lease = nanoseconds(parsed.at("lease_ns").get<std::int64_t>()),
                         .capacity = read_cores(kWorker, parsed.at("capacity")),
                         .labels = parsed.at("labels"),
                         .unfit = parsed.at("unfit"),
                         .troubles = parsed.at("troubles"),
                         .statistics = object_in(kWorker, parsed.at("statistics"))};
    // Little depends on these, so a value of a later version is no reason to take the worker for
    // dead.
    if (parsed.contains("slots") && parsed["slots"].is_number_unsigned())
      worker.slots = std::min(parsed["slots"].get<std::size_t>(), kMostSlots);
    if (parsed.contains("view") && parsed["view"].is_string()) worker.view = parsed["view"];
    if (worker.lease <= nanoseconds(0))
      refuse_message(kWorker, "its lease is " + std::to_string(worker.lease.count()) + " ns");
    return worker;
  });
}

std::string to_message(const OrderMessage& order) {
  return json{{"schema", kOrder}, {"drain", order.drain}}.dump();
}

OrderMessage read_order_message(const std::string& message) {
  const json parsed = parse_message(message, kOrder);
  return read_message(kOrder, [&] { return OrderMessage{.drain = parsed.at("drain")}; });
}

}  // namespace vcap
