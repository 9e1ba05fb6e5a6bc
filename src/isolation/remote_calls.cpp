// SPDX-License-Identifier: Apache-2.0
#include "isolation/remote_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <vector>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "batching/batch_observer.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

CapsuleLink::~CapsuleLink() = default;

/// The observers of batches that calls had, which the other side knows by numbers. Outlives the
/// calls, because batches may. Thread-safe.
class RemoteCalls::Observers {
 public:
  using Observer = detail::BatchObserverScope::Observer;

  /// The number of an observer, 0 for null.
  WireId number_of(const Observer& observer) {
    if (!observer) return 0;
    const MutexLock lock(mutex_);
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    for (const auto& [number, known] : known_)
      // Compared without a reference: to release the last one may run much code.
      if (!known.owner_before(observer) && !observer.owner_before(known)) return number;
    known_.emplace(++last_, observer);
    return last_;
  }

  void take(const WireMessage& notice, std::string_view whose) noexcept {
    try {
      WireReader reader(notice, whose);
      CapsuleNotice what{};
      reader.choice(what, kLastCapsuleNotice);
      if (what == CapsuleNotice::batch_begun)
        begin(reader);
      else
        end(reader);
    } catch (...) {
      // A message that cannot be read, or no memory: the trace lacks this batch.
    }
  }

  /// Ends the batches that the other side has not ended, and will not.
  void end_all() noexcept {
    std::map<std::size_t, Batch> rest;
    {
      const MutexLock lock(mutex_);
      rest.swap(running_);
    }
    for (const auto& [number, batch] : rest)
      if (batch.number) batch.observer->end(*batch.number);
  }

 private:
  struct Batch {
    Observer observer;
    std::optional<std::size_t> number{};  ///< of the observer, once it has begun
  };

  void begin(WireReader& notice) {
    WireId observer = 0;
    std::size_t batch = 0;
    std::size_t items = 0;
    notice(observer, batch, items);
    notice.end();
    Observer found;
    {
      const MutexLock lock(mutex_);
      if (const auto known = known_.find(observer); known != known_.end())
        found = known->second.lock();
      // An observer makes room for each batch that runs, so their number is bounded.
      if (!found || running_.size() >= kMostRunning ||
          !running_.try_emplace(batch, Batch{.observer = found}).second)
        return;
    }
    const std::size_t number = found->begin(items);
    const MutexLock lock(mutex_);
    if (const auto running = running_.find(batch); running != running_.end())
      running->second.number = number;
  }

  void end(WireReader& notice) {
    std::size_t batch = 0;
    notice(batch);
    notice.end();
    decltype(running_)::node_type ended;
    {
      const MutexLock lock(mutex_);
      const auto running = running_.find(batch);
      if (running == running_.end() || !running->second.number) return;
      ended = running_.extract(running);
    }
    ended.mapped().observer->end(*ended.mapped().number);
  }

  static constexpr std::size_t kMostRunning = 256;

  Mutex mutex_;
  WireId last_ VCAP_GUARDED_BY(mutex_) = 0;
  std::map<WireId, std::weak_ptr<detail::BatchObserver>> known_ VCAP_GUARDED_BY(mutex_);
  std::map<std::size_t, Batch> running_ VCAP_GUARDED_BY(mutex_);
};

RemoteCalls::RemoteCalls(const std::string& capsule, const MakeLink& make_link)
    : subject_("capsule " + capsule),
      observers_(std::make_shared<Observers>()),
      link_(make_link([observers = observers_, subject = subject_](const WireMessage& notice) {
        observers->take(notice, subject);
      })) {}

RemoteCalls::~RemoteCalls() {
  link_.reset();
  observers_->end_all();
}

CallContext RemoteCalls::context() const {
  CallContext context = current_call_context();
  context.observer = observers_->number_of(detail::BatchObserverScope::current());
  return context;
}

void RemoteCalls::log_failure(std::string_view doing) const noexcept {
  try {
    log(LogLevel::error, subject_ + " failed while " + std::string(doing) + ": " +
                             exception_text(std::current_exception()));
  } catch (...) {
    // No memory for the log.
  }
}

}  // namespace vcap
