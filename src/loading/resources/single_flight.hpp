// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <future>
#include <map>
#include <string>
#include <utility>

#include "base/thread_annotations.hpp"

namespace vcap {

/// Runs the work for a key once for all callers at the same time: the others wait, and all get its
/// result or exception. A later call runs it again. `Result` is copied to each caller. Thread-safe.
template <class Result>
class SingleFlight {
 public:
  template <class Work>
  Result run(const std::string& key, Work work) {
    std::promise<Result> promise;
    std::shared_future<Result> result;
    {
      MutexLock lock(mutex_);
      if (const auto flight = flights_.find(key); flight != flights_.end()) {
        ++flight->second.waiting;
        result = flight->second.result;
        lock.unlock();
        return result.get();
      }
      result = promise.get_future().share();
      flights_.emplace(key, Flight{.result = result});
    }
    try {
      promise.set_value(work());
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
    const MutexLock lock(mutex_);
    flights_.erase(key);
    return result.get();
  }

  /// The number of callers that wait for work that another one runs.
  std::size_t waiting(const std::string& key) const {
    const MutexLock lock(mutex_);
    const auto flight = flights_.find(key);
    return flight == flights_.end() ? 0 : flight->second.waiting;
  }

 private:
  struct Flight {
    std::shared_future<Result> result{};
    std::size_t waiting = 0;
  };

  mutable Mutex mutex_;
  std::map<std::string, Flight> flights_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
