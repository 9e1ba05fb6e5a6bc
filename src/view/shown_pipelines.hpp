// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/thread_annotations.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/pipeline/viewed_streams.hpp"

namespace vcap {

/// What a live view shows: one pipeline that it may change, or pipelines that come and go, and that
/// it only shows. Thread safety: thread-safe.
class ShownPipelines {
 public:
  /// The pipeline outlives it.
  explicit ShownPipelines(Pipeline& pipeline) : changeable_(&pipeline) {}
  /// Throws InvalidArgument if there is no function for the pipelines.
  explicit ShownPipelines(ViewedStreams viewed);

  bool can_change() const noexcept { return changeable_ != nullptr; }
  /// Throws LiveRefusal (403) if nothing can be changed.
  void check_can_change() const;
  /// The pipeline that may be changed. Throws as check_can_change().
  Pipeline& changeable() const;

  /// The ids of the streams.
  std::set<std::string> streams() const;
  /// Of several pipelines: their sums, and their lists one after the other. Their time is that of
  /// the view.
  PipelineStats stats() const;
  /// Of each pipeline: {"streams": their ids, "plan", "text"}.
  nlohmann::json plans() const;
  std::vector<CapsuleInfo> capsules() const;
  /// Throws SourceError (unknown_stream).
  StreamSettings stream_settings(const std::string& stream) const;
  /// Streams that no pipeline has, up to half a second old; by their ids.
  std::vector<ViewedStreams::Listed> elsewhere() const VCAP_EXCLUDES(mutex_);

 private:
  std::vector<std::shared_ptr<const Pipeline>> pipelines() const;
  bool is_list_due() const VCAP_EXCLUDES(mutex_);

  Pipeline* const changeable_ = nullptr;
  const ViewedStreams viewed_{};
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  mutable Mutex mutex_;
  mutable std::vector<ViewedStreams::Listed> all_ VCAP_GUARDED_BY(mutex_);
  mutable std::chrono::steady_clock::time_point due_ VCAP_GUARDED_BY(mutex_){};
};

}  // namespace vcap
