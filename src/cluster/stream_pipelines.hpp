// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "cluster/capsule_cache.hpp"
#include "cluster/object_store.hpp"
#include "cluster/stream_message.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap {

/// A pipeline that streams with the same capsules share, so that their frames meet in batches.
/// Thread safety: thread-safe.
class StreamPipeline {
 public:
  explicit StreamPipeline(const std::vector<std::shared_ptr<Capsule>>& given);

  const std::vector<std::shared_ptr<Capsule>> capsules;
  Pipeline pipeline;

  /// How many cores the calls of a stream's frames take, waits for batches included; `nullopt` as
  /// long as it is not known.
  std::optional<double> load_of(const std::string& stream) const;
  /// The pipeline's statistics, at most half a second old: each of its streams asks for them.
  std::shared_ptr<const PipelineStats> recent_stats() const VCAP_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  mutable std::shared_ptr<const PipelineStats> stats_ VCAP_GUARDED_BY(mutex_);
  mutable std::chrono::steady_clock::time_point old_at_ VCAP_GUARDED_BY(mutex_){};
};

/// The pipelines of a worker. Thread safety: thread-safe.
class StreamPipelines {
 public:
  explicit StreamPipelines(CapsuleCache& capsules) : capsules_(capsules) {}

  /// The pipeline with these capsules; it exists as long as a stream holds it. Throws ClusterError
  /// if a file cannot be fetched, and what load_capsule() and Pipeline throw.
  std::shared_ptr<StreamPipeline> get(const std::vector<StreamMessage::CapsuleObject>& capsules,
                                      ObjectStore& objects) VCAP_EXCLUDES(loading_, mutex_);
  /// Those that streams hold now. Does not wait for capsules that are being loaded.
  std::vector<std::shared_ptr<StreamPipeline>> all() const VCAP_EXCLUDES(mutex_);

 private:
  std::shared_ptr<StreamPipeline> find(const std::string& key) VCAP_EXCLUDES(mutex_);

  CapsuleCache& capsules_;
  Mutex loading_;  ///< held while capsules are loaded; before mutex_
  mutable Mutex mutex_;
  std::map<std::string, std::weak_ptr<StreamPipeline>> pipelines_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
