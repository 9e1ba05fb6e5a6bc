// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/lease_view.hpp"
#include "cluster/settled_message.hpp"
#include "vcap/jobs/task_queue.hpp"

namespace vcap {

/// What the broker knows about the tasks of a queue that were leased or settled: a lease record for
/// each, and how it ended (docs/adr/0022).
///
/// A record is only replaced if it is still the one that was read. So of two processes that want to
/// change it, one fails. A task is settled by the first message with its subject in another stream,
/// whatever its record says. Functions throw ClusterError. Borrows both. Thread safety:
/// thread-safe.
class TaskRecords {
 public:
  /// `on_change`: called when something has changed that others may wait for. [any thread]
  /// Called by any thread.
  struct Callbacks {
    std::function<void()> on_change{};  ///< of what is known
    /// This process has noted that the lease of a task has run out.
    std::function<void(const std::string& task)> on_run_out{};
  };

  TaskRecords(JetStream& jet_stream, const Site& site, std::string queue, int max_attempts,
              std::shared_ptr<Clock> clock, Callbacks callbacks);
  static void remove(Cluster::Impl& cluster, const std::string& queue);

  /// Leases a task for `time` from now. `place`: of one that was delivered, so that it was probably
  /// never leased. `nullopt` if it cannot be leased now; then the view is up to date.
  std::optional<LeaseRecord> claim(const std::string& task, std::optional<std::uint64_t> place,
                                   Clock::duration time);
  // As those of TaskQueue.
  bool renew(const TaskQueue::Lease& lease, Clock::duration time);
  bool complete(const TaskQueue::Lease& lease, nlohmann::json result);
  bool fail(const TaskQueue::Lease& lease, const std::string& reason);
  bool release(const TaskQueue::Lease& lease);
  std::optional<nlohmann::json> result(const std::string& id);
  std::vector<TaskQueue::Failure> failures();

  /// Ends the leases that have run out, as far as they are known.
  void end_run_out() VCAP_EXCLUDES(mutex_);
  /// As those of ClusterQueue.
  void refuse_result(const std::string& task, std::uint64_t sequence, const std::string& reason);
  void revive();
  /// Removes the record of a lease of a task that is not there any more.
  void forget(const std::string& task, std::uint64_t number);
  static TaskQueue::Counts counts_of(Cluster::Impl& cluster, const std::string& queue);

  // The view: the leases as far as this process knows them.

  /// Reads it anew, after messages may have been lost.
  void load_view() VCAP_EXCLUDES(mutex_);
  /// When a lease runs out; time_point::max() if there is none.
  Clock::time_point first_end() const VCAP_EXCLUDES(mutex_);
  /// The first task that waits for another attempt, except those in `avoided`.
  std::optional<LeaseView::Waiting> first_waiting(
      const std::map<std::string, Clock::time_point>& avoided) const VCAP_EXCLUDES(mutex_);

 private:
  /// A record as it was read; sequence 0: there is none.
  struct Known {
    LeaseRecord record{};
    std::uint64_t sequence = 0;
  };

  std::string lease_subject(const std::string& id) const;
  std::string settled_subject(const std::string& id) const;
  Known read(const std::string& task) VCAP_EXCLUDES(mutex_);
  /// An invalid message is removed: it settles nothing.
  std::optional<SettledMessage> settled(const std::string& task);
  bool is_settled_already(const std::string& task);
  bool exists(const std::string& task);
  std::optional<Known> held(const TaskQueue::Lease& lease);
  /// Replaces the record; false if it is not the one that was read any more.
  bool replace(const std::string& task, std::uint64_t sequence, const LeaseRecord& record)
      VCAP_EXCLUDES(mutex_);
  bool tidy(const std::string& task);
  /// Removes the record that was read. False if there is another one, or none.
  bool erase(const std::string& task, std::uint64_t sequence) VCAP_EXCLUDES(mutex_);
  bool attempt_failed(const std::string& task, const Known& known, const std::string& reason);
  bool give_up(const std::string& task, const LeaseRecord& record);
  void end_if_run_out(const std::string& task);
  void note_lease(const BrokerMessage& message) VCAP_EXCLUDES(mutex_);
  void note_settled(const BrokerMessage& message) VCAP_EXCLUDES(mutex_);

  JetStream& jet_stream_;
  const Site& site_;
  const std::string queue_;
  const int max_attempts_;
  const std::shared_ptr<Clock> clock_;
  const Callbacks callbacks_;

  mutable Mutex mutex_;
  LeaseView view_ VCAP_GUARDED_BY(mutex_);

  std::vector<std::unique_ptr<BrokerSubscription>> subscriptions_;  ///< use the members above
};

}  // namespace vcap
