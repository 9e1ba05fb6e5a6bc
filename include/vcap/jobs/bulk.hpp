// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"
#include "vcap/jobs/job.hpp"
#include "vcap/jobs/task_queue.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// How one video of a job went. Thread safety: value.
struct JobVideoReport {
  enum class Outcome {
    done,         ///< its outputs are there
    done_before,  ///< likewise, by an earlier run
    failed        ///< what is stored of it stays for a later run
  };

  std::string id{};
  Outcome outcome = Outcome::done;
  std::int64_t frames = 0;
  std::int64_t failed_frames = 0;      ///< on which a capsule failed
  std::string first_error{};           ///< of those; empty where there is none
  std::vector<std::string> reasons{};  ///< of each attempt that failed, where the video has failed
};

/// How a job went. Thread safety: value.
struct JobReport {
  std::int64_t done = 0;
  std::int64_t done_before = 0;
  std::int64_t left = 0;                 ///< neither done nor failed, since the run was stopped
  std::vector<JobVideoReport> failed{};  ///< in the job's order
};

/// How run_job works, and who is told of it. Thread safety: value.
struct BulkSettings {
  LoadOptions load{};  ///< of the capsules; the config is the job's
  /// Hands out the slices; null: a queue in this process, with the job's attempts. Another is for
  /// this run alone, and its own settings say how often a slice is tried.
  std::shared_ptr<TaskQueue> queue{};
  /// How long a slice is leased at a time; leases of workers that live are renewed.
  std::chrono::nanoseconds lease = std::chrono::seconds(30);
  std::shared_ptr<Clock> clock{};  ///< of leases; null: the machine's steady clock
  /// Of each record that is made, before it is stored. [workers, concurrent]
  std::function<void(const FrameRecord&)> on_record{};
  /// Once for each video, when it is done or has failed. [workers and caller, one at a time]
  std::function<void(const JobVideoReport&)> on_video{};
};

/// Runs a job, or what is left of one that was broken off, and returns when every video is done or
/// has failed, or `stop` was requested: then slices in progress are dropped, and those that are
/// stored stay.
///
/// Workers (Job::parallel) take one slice of a video at a time, as a stream of its rows in a
/// pipeline of their own; they share the capsules. What a video's outputs hold is byte for byte
/// what a run of that video alone gives, however it is cut. It is cut once, when it is begun: so
/// that slices outweigh their warm-up, none is longer than some thousand frames, and, where the job
/// has few videos, all workers have some. In one go run: a video whose capsules' state is
/// unbounded, whose frames cannot be found without decoding all, which turns out to be damaged, or
/// whose annotated clip is wanted. An attempt that fails is logged (warning).
///
/// Into the folder of outputs come, as Job::Outputs says, ID.jsonl with the records, ID.mp4 with
/// what was found drawn on the frames, and ID.txt with the counts of a summary. Each appears when
/// it is whole. Beside them, in .vcap-job/, is what a later run of the same job goes on from:
/// videos may have joined it since, or left it, and one that has changed, or whose outputs have,
/// is run anew.
///
/// Before anything is run, throws InvalidArgument, OptionError, PlanError, naming the video, for
/// settings that cannot be; InvalidArgument where the folder is another job's, or has files of the
/// outputs' names that are not this job's; OutputError where another process works there, or it
/// cannot be written; and as load_capsule(). Later, what `queue` throws. Thread-safe.
VCAP_EXPORT JobReport run_job(const Job& job, const BulkSettings& settings = {},
                              std::stop_token stop = {});

}  // namespace vcap
