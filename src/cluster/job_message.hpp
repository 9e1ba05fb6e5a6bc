// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/object_store.hpp"
#include "vcap/jobs/job.hpp"

namespace vcap {

/// A job as workers see it. Its videos are in its tasks. Thread safety: value.
struct JobMessage {
  enum class State {
    running,
    paused,  ///< nobody works on it until it is running again
    ended,   ///< done or cancelled: nobody works on it any more
  };
  struct CapsuleObject {
    ObjectReference object{};
    nlohmann::json config{};
    std::optional<Stencil> stencil{};
  };

  State state = State::running;
  std::string name{};                    ///< for people: the host and the folder of its outputs
  int priority = 0;                      ///< jobs of a higher one come first
  std::chrono::nanoseconds submitted{};  ///< since 1970, by the broker's time
  std::chrono::nanoseconds ended{};      ///< the same, when its state became `ended`
  std::size_t videos = 0;
  std::uint64_t settled_before = 0;  ///< tasks that were settled when it was submitted
  std::string shared{};              ///< the folder for results; empty: they go through the broker
  std::vector<CapsuleObject> capsules{};
  Job job{};  ///< without its capsules, videos and the folder of its outputs
  std::chrono::nanoseconds capsule_deadline{0};
  std::chrono::nanoseconds first_call_deadline{0};
};

std::string_view to_string(JobMessage::State state) noexcept;

/// As JSON, "vcap.cluster-job/1".
std::string to_message(const JobMessage& job);
/// Throws ClusterError (invalid_message).
JobMessage read_job_message(const std::string& message);

/// A task's payload: a slice of a video. Thread safety: value.
struct SliceTask {
  Job::Video video{};
  nlohmann::json stamp{};  ///< file_stamp() of the video
  /// Counts the plans of the video, from 1. A damaged video gets another plan.
  int plan = 1;
  std::size_t slice = 0;

  /// The task's id. A video that has changed has other ids.
  std::string id() const;
  /// The same for all slices and plans of the video.
  std::string video_id() const;
};
nlohmann::json to_payload(const SliceTask& task);
/// Throws ClusterError (invalid_message).
SliceTask read_slice_task(const nlohmann::json& payload);

/// A task's result. Thread safety: value.
struct SliceResult {
  struct File {
    std::string name{};  ///< in the folder of the slice
    /// A small file of text is in the result itself, and has no object.
    std::optional<std::string> text{};
    ObjectReference object{};
  };

  std::string video{};  ///< its id in the job
  int plan = 1;
  std::size_t slice = 0;
  bool is_superseded = false;  ///< the slice is not needed: there is a later plan
  nlohmann::json counts{};     ///< RecordCounts
  std::vector<File> files{};
};
nlohmann::json to_result(const SliceResult& result);
/// Throws ClusterError (invalid_message).
SliceResult read_slice_result(const nlohmann::json& result);

/// How a video is cut. Thread safety: value.
struct PlanMessage {
  int number = 0;  ///< SliceTask::plan
  nlohmann::json slices{};
  std::optional<ObjectReference> index{};  ///< JobStore::index()
};
/// As JSON, "vcap.plan/1".
std::string to_message(const PlanMessage& plan);
/// Throws ClusterError (invalid_message).
PlanMessage read_plan(const std::string& message);

}  // namespace vcap
