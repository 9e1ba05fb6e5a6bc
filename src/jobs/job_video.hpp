// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/thread_annotations.hpp"
#include "jobs/job_folder.hpp"
#include "records/record_counts.hpp"
#include "streams/capsule_set.hpp"
#include "vcap/base/export.hpp"
#include "vcap/base/log.hpp"
#include "vcap/jobs/job.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/sources/random_access.hpp"
#include "vcap/sources/row_range.hpp"

namespace vcap {

/// What all videos of a job share. They borrow it.
struct JobSetting {
  const Job& job;
  const CapsuleSet& capsule_set;
  JobStore& store;
  std::size_t parts_wanted = 1;                  ///< of a video that is cut; enough for all workers
  int decoder_threads = 0;                       ///< for one video (SourceOptions::decoder_threads)
  std::chrono::nanoseconds capsule_deadline{0};  ///< StreamConfig
  std::chrono::nanoseconds first_call_deadline{0};  ///< likewise
  std::function<void(const FrameRecord&)> on_record{};
};

/// One video of a job: its plan, the results of its slices, and its outputs. All that is known of
/// the video is in the job's store. So the object may be destroyed and made again at any time, but
/// only one may exist at a time. Borrows the video and the setting. Thread safety: thread-safe.
class VCAP_EXPORT JobVideo {
 public:
  JobVideo(const Job::Video& video, const JobSetting& setting);

  /// The slices that have no result yet. Makes a plan if the video has none, which may look through
  /// the whole file. Throws SourceError, OutputError.
  std::vector<std::size_t> missing();
  /// Runs a slice and stores its result, unless it has one. False if `stop` was requested before
  /// that. Throws what made the stream fail.
  bool run(std::size_t slice, Pipeline& pipeline, const std::stop_token& stop);
  /// Makes the outputs if all results exist; `folder`: the store. Returns their total counts if
  /// this call made them. Throws OutputError.
  std::optional<RecordCounts> finish(JobFolder& folder);

 private:
  using Part = std::optional<RowRange>;  ///< absent: the whole video
  /// How the video is cut, and which parts are stored.
  struct Cut {
    std::vector<Part> parts{};
    std::vector<bool> stored{};  ///< guarded by mutex_
  };

  /// What is logged once the lock is released.
  struct News {
    void tell() const;

    LogLevel level = LogLevel::warning;
    std::string text{};  ///< empty: nothing
  };

  std::shared_ptr<Cut> cut() VCAP_EXCLUDES(mutex_);
  std::shared_ptr<Cut> cut(News& news) VCAP_EXCLUDES(mutex_);
  nlohmann::json plan(News& news) VCAP_REQUIRES(mutex_);
  void read_cut(const nlohmann::json& plan) VCAP_REQUIRES(mutex_);
  void go_on_in_one(const std::string& why) VCAP_EXCLUDES(mutex_);
  bool plan_in_one() VCAP_EXCLUDES(mutex_);
  bool run_part(std::size_t slice, Pipeline& pipeline, const std::stop_token& stop);
  bool is_stored(const Cut& cut, std::size_t slice) VCAP_EXCLUDES(mutex_);
  std::unique_ptr<Source> open_whole() const;
  std::unique_ptr<Source> source_of(const Part& part) VCAP_EXCLUDES(mutex_);
  std::unique_ptr<Source> source_of(const RowRange& rows, News& news) VCAP_EXCLUDES(mutex_);
  News find_frames(Source& source) VCAP_REQUIRES(mutex_);
  News find_frames_again() VCAP_REQUIRES(mutex_);
  std::int64_t frames_wanted(std::int64_t frames) const;
  bool trusts_stored_index() VCAP_EXCLUDES(mutex_);
  void distrust_stored_index() VCAP_EXCLUDES(mutex_);
  StreamConfig stream_of(const Part& part);
  RecordCounts run_stream(StreamConfig config, const std::filesystem::path& folder,
                          Pipeline& pipeline, const std::stop_token& stop);

  const Job::Video& video_;
  const JobSetting& setting_;
  Mutex in_one_;     ///< held while the video is run in one go
  Mutex finishing_;  ///< held while the outputs are made

  Mutex mutex_;
  /// Null until it is needed; replaced if the plan changes.
  std::shared_ptr<Cut> cut_ VCAP_GUARDED_BY(mutex_);
  SourceInfo info_ VCAP_GUARDED_BY(mutex_);  ///< the source's info, for access_
  /// Null until it is needed, or if there is none.
  std::shared_ptr<const RandomAccess> access_ VCAP_GUARDED_BY(mutex_);
  /// access_ is, or will be, by the index that another process may have stored.
  bool trusts_index_ VCAP_GUARDED_BY(mutex_) = true;
};

}  // namespace vcap
