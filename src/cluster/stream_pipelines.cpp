// SPDX-License-Identifier: Apache-2.0
#include "cluster/stream_pipelines.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

constexpr std::chrono::milliseconds kStatsAge{500};

std::string key_of(const std::vector<StreamMessage::CapsuleObject>& capsules) {
  nlohmann::json key = nlohmann::json::array();
  for (const StreamMessage::CapsuleObject& capsule : capsules)
    key.push_back({capsule.object.sha256, capsule.config});
  return key.dump();
}

}  // namespace

StreamPipeline::StreamPipeline(const std::vector<std::shared_ptr<Capsule>>& given)
    : capsules(given), pipeline(given, {.can_give_up_calls = true}) {}

std::optional<double> StreamPipeline::load_of(const std::string& stream) const {
  const auto stats = recent_stats();
  double cores = 0;
  for (const CapsuleStats& capsule : stats->capsules)
    cores += capsule.calls_per_second * capsule.call_ns.mean() * 1e-9;
  double all = 0;
  double own = 0;
  for (const StreamStats& one : stats->streams) {
    all += one.frames_per_second;
    if (one.id == stream) own = one.frames_per_second;
  }
  if (own <= 0) return std::nullopt;
  return cores * own / all;
}

std::shared_ptr<const PipelineStats> StreamPipeline::recent_stats() const {
  const auto now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  if (!stats_ || now >= old_at_) {
    stats_ = std::make_shared<const PipelineStats>(pipeline.stats());
    old_at_ = now + kStatsAge;
  }
  return stats_;
}

std::shared_ptr<StreamPipeline> StreamPipelines::get(
    const std::vector<StreamMessage::CapsuleObject>& capsules, ObjectStore& objects) {
  const std::string key = key_of(capsules);
  const MutexLock loading(loading_);
  if (auto known = find(key)) return known;
  std::vector<std::shared_ptr<Capsule>> loaded;
  loaded.reserve(capsules.size());
  for (const StreamMessage::CapsuleObject& capsule : capsules)
    loaded.push_back(capsules_.load({.object = capsule.object, .config = capsule.config},
                                    OutputPolicy{}.invalid, objects));
  auto pipeline = std::make_shared<StreamPipeline>(loaded);
  const MutexLock lock(mutex_);
  pipelines_[key] = pipeline;
  return pipeline;
}

std::shared_ptr<StreamPipeline> StreamPipelines::find(const std::string& key) {
  const MutexLock lock(mutex_);
  std::erase_if(pipelines_, [](const auto& entry) { return entry.second.expired(); });
  const auto known = pipelines_.find(key);
  return known == pipelines_.end() ? nullptr : known->second.lock();
}

std::vector<std::shared_ptr<StreamPipeline>> StreamPipelines::all() const {
  std::vector<std::shared_ptr<StreamPipeline>> result;
  const MutexLock lock(mutex_);
  for (const auto& [key, pipeline] : pipelines_)
    if (auto used = pipeline.lock()) result.push_back(std::move(used));
  return result;
}

}  // namespace vcap
