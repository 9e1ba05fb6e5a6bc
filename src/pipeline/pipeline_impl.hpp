// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "streams/capsule_set.hpp"
#include "streams/compiled_plan.hpp"
#include "streams/pipeline_stream.hpp"
#include "streams/replaced_capsules.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "workers/in_flight_limiter.hpp"
#include "workers/watchdog.hpp"
#include "workers/work_pool.hpp"

namespace vcap {

/// About three full batches. Beyond this number, streams share the workers.
inline constexpr std::size_t kMostWorkers = 128;

/// Workers mostly wait for batches, and a frame can be in a batch only while a worker holds it. So
/// there is one worker for each frame in flight, up to a limit.
std::size_t automatic_workers(std::size_t frames_in_flight);

/// Throws InvalidArgument that begins with `whose`.
void check(const QuarantinePolicy& policy, const std::string& whose);
/// Checks what can be checked without the pipeline. Throws InvalidArgument.
void check(const StreamConfig& config);
/// Throws InvalidArgument if a sink of the stream uses a picture that no capsule of the plan gives.
void check_pictures(const CompiledPlan& compiled_plan, const StreamRules& rules,
                    const std::string& id);
/// Throws CapsuleLoadError (no_backend).
void refuse_without_backend(const Capsule& capsule);

/// The streams and capsules of a pipeline. Thread safety: thread-safe; docs/threading.md has the
/// order of its locks. Opening streams is in open_streams.cpp, replacing capsules in
/// replace_capsule.cpp.
struct Pipeline::Impl {
  Impl(const std::vector<std::shared_ptr<Capsule>>& capsules, Settings wanted);

  std::shared_ptr<CapsuleSlot> make_slot(std::shared_ptr<Capsule> capsule,
                                         std::int64_t trial_frames = 0);
  std::size_t places_of(const Capsule& capsule) const;
  void raise_places() VCAP_EXCLUDES(mutex);
  std::shared_ptr<PipelineStream> find(const std::string& id) const;
  std::shared_ptr<PipelineStream> find_to_pull(const std::string& id) const;
  bool is_open(const std::string& id) const;
  std::shared_ptr<const CapsuleSet> capsules() const;
  std::vector<std::shared_ptr<PipelineStream>> open_streams() const;
  std::shared_ptr<PipelineStream> stream_after(const PipelineStream* stream) const noexcept;
  StepOptions options_of(const CompiledPlan& compiled_plan,
                         const std::map<std::string, OptionValues>& given) const;
  struct Draft;
  Draft draft(const StreamConfig& config, const std::shared_ptr<const RandomAccess>& access,
              const CapsuleSet& set) const VCAP_EXCLUDES(changing);
  void start(std::vector<StreamConfig> configs);
  std::shared_ptr<PipelineStream> make_stream(StreamConfig& config, Draft& draft);
  void enter(const std::shared_ptr<PipelineStream>& stream) VCAP_REQUIRES(changing);
  struct Exchange;
  std::map<std::string, std::int64_t> replace(Exchange& exchange, bool keep_state)
      VCAP_REQUIRES(changing);
  bool is_on_trial(const std::string& capsule) const;
  void set_trial(const std::string& capsule, std::shared_ptr<CapsuleSlot> before);
  void check_on_trial(const std::string& capsule, const JsonValue& config,
                      const std::string& stream) const;
  void end_trial(const std::string& capsule, bool passed);
  StreamReport end(const std::shared_ptr<PipelineStream>& stream);
  PipelineStats stats() const;

  const Settings settings;
  const bool has_one_capsule;
  const std::shared_ptr<Clock> clock;
  const std::shared_ptr<TraceLog> trace;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  /// Held while streams are opened or capsules change, so that these do not overlap. Capsules open
  /// their states meanwhile.
  Mutex changing;
  mutable Mutex mutex;
  std::shared_ptr<const CapsuleSet> capsule_set VCAP_GUARDED_BY(mutex);
  /// By name: the capsules replaced by those on trial.
  std::map<std::string, std::shared_ptr<CapsuleSlot>> on_trial VCAP_GUARDED_BY(mutex){};
  mutable ReplacedCapsules replaced VCAP_GUARDED_BY(mutex){};
  std::map<std::string, std::shared_ptr<PipelineStream>> streams VCAP_GUARDED_BY(mutex){};

  // Last, so that they are destroyed first: they work for the streams.
  InFlightLimiter flights;
  WorkPool pool;
  Watchdog watchdog;
};

}  // namespace vcap
