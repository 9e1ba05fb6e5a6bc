// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/thread_annotations.hpp"
#include "capsule/call_observer.hpp"
#include "observe/trace_log.hpp"

namespace vcap {

/// Writes one capsule's events to a trace. Thread safety: thread-safe.
class CapsuleTrace {
 public:
  /// Null if there is no log.
  static std::unique_ptr<CapsuleTrace> make(std::shared_ptr<TraceLog> log, const std::string& name,
                                            int version);
  CapsuleTrace(std::shared_ptr<TraceLog> log, const std::string& name, int version);

  /// Traces a call on this thread, for as long as the object lives.
  class Call;

 private:
  class Batches;

  std::shared_ptr<Batches> batches(const std::string& device) VCAP_EXCLUDES(mutex_);

  const std::shared_ptr<TraceLog> log_;
  const std::string name_;
  const int version_;
  TraceLanes* const calls_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Batches>> batches_
      VCAP_GUARDED_BY(mutex_){};  ///< by device
};

class CapsuleTrace::Call final : public detail::CallObserver {
 public:
  Call(CapsuleTrace& capsule, const std::string& stream, std::int64_t index, std::uint64_t frame);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::shared_ptr<detail::BatchObserver> begin(const std::string& device) noexcept override;
  void end() noexcept override;

 private:
  CapsuleTrace& capsule_;
  const std::string name_;
  const std::uint64_t frame_;
  const std::size_t place_;
  TraceLanes* device_ = nullptr;  ///< set while the backend runs
  std::size_t device_place_ = 0;
  const detail::CallObserverScope scope_{*this};
};

}  // namespace vcap
