// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/jobs/job.hpp"
#include "vcap/jobs/task_queue.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/media/broken_pictures.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

class Clock;

/// How one video of a job went. Thread safety: value.
struct JobVideoReport {
  enum class Outcome {
    done,         ///< its outputs are complete
    done_before,  ///< the same, by an earlier run
    failed        ///< its stored results stay for a later run
  };

  std::string id{};
  Outcome outcome = Outcome::done;
  std::int64_t frames = 0;
  BrokenPictures broken_pictures{};    ///< of the video: skipped, so not among its frames
  std::int64_t failed_frames = 0;      ///< frames on which a capsule failed
  std::string first_error{};           ///< the first error of those frames; empty if there was none
  std::vector<std::string> reasons{};  ///< one for each failed attempt, if the video has failed
};

/// How a job went. Thread safety: value.
struct JobReport {
  std::int64_t done = 0;
  std::int64_t done_before = 0;
  std::int64_t left = 0;                 ///< neither done nor failed, because the run was stopped
  std::vector<JobVideoReport> failed{};  ///< in the job's order
  /// Calls of capsules that were given up (JobSettings::capsule_deadline) and had not returned when
  /// the job ended. They still run the capsules' code.
  std::size_t calls_left = 0;
};

/// What earlier runs of a job have stored, so that it is not run again. Thread safety: value.
struct JobKept {
  std::vector<std::string> videos{};  ///< the ids of those that are done, in the job's order
  std::int64_t slices = 0;            ///< stored slices of videos that are not done
  std::int64_t frames = 0;            ///< records in these slices
};

/// How run_job() works, and its callbacks. Thread safety: value.
struct JobSettings {
  /// How capsules are loaded. Config, stencil and OutputPolicy::invalid come from the job.
  LoadOptions load{};
  /// Hands out the slices. Null: a queue in this process, with the job's attempts. Another queue
  /// serves this run only; its own settings say how often a slice is tried.
  std::shared_ptr<TaskQueue> queue{};
  /// Duration of a lease on a slice. Leases of live workers are renewed.
  std::chrono::nanoseconds lease = std::chrono::seconds(30);
  std::shared_ptr<Clock> clock{};  ///< for leases and deadlines; null: the machine's steady clock
  /// As StreamConfig::capsule_deadline and first_call_deadline. An attempt fails if a capsule
  /// exceeds them, also in the warm-up; its reason names the capsule and the frame, or the log
  /// does. So a result never depends on how long a call took. A capsule that hangs keeps a thread,
  /// but no worker of the job.
  std::chrono::nanoseconds capsule_deadline{0};
  std::chrono::nanoseconds first_call_deadline{0};
  /// Gets each record as it is made, before its slice is stored. If a slice is tried again, it gets
  /// the records again. [workers, concurrent]
  std::function<void(const FrameRecord&)> on_record{};
  /// Gets each video once, when it is done or has failed. [workers and caller, one at a time]
  std::function<void(const JobVideoReport&)> on_video{};
  /// Gets once what earlier runs have stored, before any video is run. [caller]
  std::function<void(const JobKept&)> on_resume{};
  /// Gets the job's capsules once, when they are loaded. A host that keeps them closes them itself,
  /// and can see by Capsule::backends() which of them has calls in progress. [caller]
  std::function<void(const std::vector<std::shared_ptr<Capsule>>&)> on_load{};
};

/// Runs a job, or the rest of an interrupted one. Returns when every video is done or has failed,
/// or after `stop` was requested. On a stop, slices in progress are dropped, and stored slices
/// stay.
///
/// Each worker (Job::parallel) takes one slice of a video at a time and runs it as a stream of
/// those rows, in a pipeline of its own. Workers share the capsules. The outputs of a video are
/// byte for byte those of a run of that video by itself, however it is cut. An attempt that fails
/// is logged (warning).
///
/// A video is cut once, when it is begun. Slices are much longer than their warm-up, and at most
/// some thousand frames long. If the job has few videos, there are enough slices for all workers. A
/// video is not cut if a capsule's state is unbounded, if its frames cannot be found without
/// decoding all of them, if it turns out to be damaged, or if its annotated clip is wanted.
///
/// The folder of outputs gets, as Job::Outputs says, ID.jsonl with the records, ID.mp4 with the
/// results drawn on the frames, and ID.txt with the counts of a summary. Each file appears when it
/// is complete. Beside them, .vcap-job/ holds what a later run of the same job needs to continue.
/// Between runs, videos may be added or removed. A video is run again if it or its outputs have
/// changed.
///
/// Before anything is run, throws PlanError, or InvalidArgument or OptionError naming the video or
/// the capsule, for invalid settings, such as deadlines below 0. Throws InvalidArgument if the
/// folder belongs to another job, or has files with the names of the outputs that this job did not
/// make. Throws OutputError if another process works there, or if the folder cannot be written.
/// Throws as load_capsule(). During the run, throws what `queue` throws. Thread-safe.
VCAP_EXPORT JobReport run_job(const Job& job, const JobSettings& settings = {},
                              std::stop_token stop = {});

}  // namespace vcap
