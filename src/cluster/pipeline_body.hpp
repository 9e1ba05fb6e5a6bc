// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/thread_annotations.hpp"
#include "cluster/continued_source.hpp"
#include "cluster/stream_body.hpp"
#include "cluster/stream_pipelines.hpp"

namespace vcap {

/// The frames of a camera, which go through capsules. Thread safety: as StreamBody.
class PipelineBody final : public StreamBody {
 public:
  /// Loads the capsules, unless streams use them already. `sink` also gets the records; it may be
  /// null. Throws as StreamPipelines::get().
  PipelineBody(std::string id, StreamMessage message, StreamPipelines& pipelines,
               ObjectStore& objects, std::shared_ptr<Sink> sink = nullptr);

  std::map<std::string, bool> states() const override;
  void run(const EpochBegin& begin, std::map<std::string, SavedState> saved, Host& host) override;
  void end() noexcept override { source_end_->request(); }
  std::optional<std::map<std::string, SavedState>> save() const override;
  std::optional<double> load() const override { return pipeline_->load_of(id_); }
  std::string trouble() const override;

 private:
  std::optional<std::map<std::string, SavedState>> saved_states() const;
  StreamConfig config(const EpochBegin& begin, std::map<std::string, SavedState> saved) const;

  const std::string id_;
  const StreamMessage message_;
  const std::shared_ptr<StreamPipeline> pipeline_;
  const std::shared_ptr<Sink> sink_;
  const std::shared_ptr<SourceEnd> source_end_ = std::make_shared<SourceEnd>();
  mutable Mutex mutex_;
  std::optional<std::map<std::string, SavedState>> last_states_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
