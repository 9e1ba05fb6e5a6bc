// SPDX-License-Identifier: Apache-2.0
#include "vcap/observe/pipeline_stats.hpp"

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

nlohmann::json times_in_ms(const Histogram& ns) {
  const auto ms = [](std::uint64_t time) { return static_cast<double>(time) / 1e6; };
  return {{"count", ns.count()},
          {"mean", ns.mean() / 1e6},
          {"p50", ms(ns.quantile(0.5))},
          {"p95", ms(ns.quantile(0.95))},
          {"p99", ms(ns.quantile(0.99))}};
}

nlohmann::json to_json(const std::optional<SinkStats>& sink) {
  if (!sink) return nullptr;
  nlohmann::json json = {
      {"written", sink->written}, {"lost", sink->lost}, {"queued", sink->queued}};
  if (!sink->lost_clips.empty()) json["lost_clips"] = sink->lost_clips;
  if (sink->last_failure) json["last_failure"] = *sink->last_failure;
  return json;
}

nlohmann::json to_json(const StreamStats& stream) {
  nlohmann::json json = {{"id", stream.id},
                         {"source", stream.source},
                         {"read", stream.read},
                         {"recorded", stream.recorded},
                         {"broken_pictures", stream.broken_pictures},
                         {"drops", stream.drops},
                         {"errors", stream.errors},
                         {"quarantined", stream.quarantined},
                         {"overdue", stream.overdue},
                         {"waiting", stream.waiting},
                         {"in_flight", stream.in_flight},
                         {"frames_per_second", stream.frames_per_second},
                         {"latency_ms", times_in_ms(stream.latency_ns)},
                         {"sinks", nlohmann::json::array()},
                         {"ended", stream.ended}};
  for (const std::optional<SinkStats>& sink : stream.sinks) json["sinks"].push_back(to_json(sink));
  if (stream.source_state) json["source_state"] = *stream.source_state;
  if (stream.failure) json["failure"] = *stream.failure;
  return json;
}

nlohmann::json to_json(const BackendStatistics& backend) {
  nlohmann::json json = {{"device", backend.device},
                         {"running", backend.running},
                         {"calls", backend.calls},
                         {"failures", backend.failures},
                         {"calls_per_second", backend.calls_per_second},
                         {"call_ms", times_in_ms(backend.call_ns)},
                         {"workload", backend.workload}};
  if (backend.batches)
    json["batches"] = {{"queued", backend.batches->queued},
                       {"running", backend.batches->running},
                       {"answered", backend.batches->answered},
                       {"failed", backend.batches->failed},
                       {"count", backend.batches->batch_sizes.count()},
                       {"mean_size", backend.batches->batch_sizes.mean()},
                       {"wait_ms", times_in_ms(backend.batches->wait_ns)},
                       {"predict_ms", times_in_ms(backend.batches->predict_ns)}};
  return json;
}

nlohmann::json to_json(const CapsuleStats& capsule) {
  nlohmann::json json = {{"name", capsule.name},
                         {"version", capsule.version},
                         {"calls", capsule.calls},
                         {"failures", capsule.failures},
                         {"calls_per_second", capsule.calls_per_second},
                         {"call_ms", times_in_ms(capsule.call_ns)},
                         {"most_calls", capsule.most_calls},
                         {"waiting", capsule.waiting},
                         {"quarantined", capsule.quarantined},
                         {"replaced", capsule.replaced},
                         {"backends", nlohmann::json::array()}};
  for (const BackendStatistics& backend : capsule.backends)
    json["backends"].push_back(to_json(backend));
  return json;
}

nlohmann::json to_json(const DeviceStats& device) {
  return {{"device", device.device},
          {"running", device.running},
          {"calls", device.calls},
          {"failures", device.failures},
          {"calls_per_second", device.calls_per_second},
          {"call_ms", times_in_ms(device.call_ns)},
          {"queued", device.queued},
          {"batches", device.batches},
          {"mean_batch_size", device.batch_sizes.mean()},
          {"predict_ms", times_in_ms(device.predict_ns)}};
}

template <class Things>
nlohmann::json list(const Things& things) {
  nlohmann::json json = nlohmann::json::array();
  for (const auto& thing : things) json.push_back(to_json(thing));
  return json;
}

}  // namespace

void to_json(nlohmann::json& json, const PipelineStats& stats) {
  json = {{"schema", "vcap.stats/1"},
          {"uptime_s", std::chrono::duration<double>(stats.uptime).count()},
          {"workers", stats.workers},
          {"in_flight", stats.in_flight},
          {"streams", list(stats.streams)},
          {"capsules", list(stats.capsules)},
          {"devices", list(stats.devices)}};
}

}  // namespace vcap
