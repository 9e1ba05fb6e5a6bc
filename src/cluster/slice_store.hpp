// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_annotations.hpp"
#include "cluster/jet_stream.hpp"
#include "cluster/job_message.hpp"
#include "cluster/object_store.hpp"
#include "cluster/site.hpp"
#include "jobs/job_store.hpp"
#include "vcap/jobs/task_queue.hpp"

namespace vcap {

/// The plan of one video, as all workers of a site share it. Each change replaces only the plan
/// that was read. Borrows both. Thread safety: thread-compatible.
class SharedPlan {
 public:
  SharedPlan(JetStream& jet_stream, const Site& site, const std::string& job,
             const std::string& video);

  /// Asks the broker. `nullopt` if there is none.
  std::optional<PlanMessage> read();
  /// Stores a plan in place of the one that was read last. Returns its number, the next one.
  /// `nullopt` if it is not that one any more.
  std::optional<int> replace(PlanMessage plan);

 private:
  JetStream& jet_stream_;
  const std::string stream_;
  const std::string subject_;
  std::uint64_t sequence_ = 0;
  int number_ = 0;
};

/// Where a worker finds and stores what belongs to one video of a job: plans and results in the
/// broker, files of results in an object store. A result becomes known only when the worker
/// completes the task of its slice with it.
///
/// Borrows the queue and the objects. Thread safety: thread-safe.
class SliceStore final : public JobStore {
 public:
  /// `task`: any of the video. `work`: a folder for files that are being written.
  SliceStore(SharedPlan plan, SliceTask task, std::string job, TaskQueue& queue,
             ObjectStore& objects, std::filesystem::path work);

  std::optional<nlohmann::json> finished(const std::string& video) const override;
  std::optional<nlohmann::json> plan(const std::string& video) const override;
  std::optional<nlohmann::json> result(const std::string& video, std::size_t slice) const override;
  std::optional<std::string> index(const std::string& video) const override;
  bool begin(const std::string& video, const nlohmann::json& plan,
             std::string_view index = {}) override;
  void forget(const std::string& video) override;
  std::unique_ptr<Staged> stage(const std::string& video, std::size_t slice) override;

  /// The present plan; asks the broker.
  std::optional<PlanMessage> present_plan() const;
  /// The plan that was read or stored last.
  std::optional<PlanMessage> known_plan() const;
  /// The results that were committed since the last call.
  std::vector<SliceResult> take_results();

 private:
  class StagedSlice;

  void add(SliceResult result);
  int plan_number() const VCAP_REQUIRES(mutex_) { return known_ ? known_->number : 1; }

  const SliceTask task_;
  const std::string job_;
  TaskQueue& queue_;
  ObjectStore& objects_;
  const std::filesystem::path work_;
  mutable Mutex mutex_;
  mutable SharedPlan plan_ VCAP_GUARDED_BY(mutex_);
  mutable std::optional<PlanMessage> known_ VCAP_GUARDED_BY(mutex_);
  std::vector<SliceResult> results_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
