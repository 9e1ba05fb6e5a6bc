// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_annotations.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/lease_view.hpp"
#include "cluster/settled_message.hpp"
#include "vcap/cluster/cluster_queue.hpp"

namespace vcap {

/// A queue whose state is in three streams of the site (docs/adr/0022).
///
/// A task is a message that never changes; its sequence is its place in the queue. A durable
/// consumer, which all workers share, delivers each task once to one of them; who gets it leases
/// it. The lease is a record, one for each task, that is only replaced if it is still the one that
/// was read. So of two processes that want to change it, one fails. Tasks that wait for another
/// attempt are found by their records. A task is settled by the first message with its subject in
/// the third stream, whatever its record says.
///
/// Thread safety: thread-safe.
class ClusterQueue final : public TaskQueue {
 public:
  /// `on_change`: called when a task may have become available. [any thread]
  ClusterQueue(std::shared_ptr<Cluster> cluster, const std::string& name, Settings settings,
               std::function<void()> on_change = {});
  ~ClusterQueue() override;

  bool put(std::string id, nlohmann::json payload) override;
  std::size_t put_all(std::vector<NewTask> tasks) override;
  std::optional<Lease> lease(std::chrono::nanoseconds time, std::stop_token stop) override;
  std::optional<Lease> try_lease(std::chrono::nanoseconds time) override;
  bool renew(const Lease& lease, std::chrono::nanoseconds time) override;
  bool complete(const Lease& lease, nlohmann::json result) override;
  bool fail(const Lease& lease, std::string reason) override;
  bool release(const Lease& lease) override;
  Counts counts() const override;
  bool wait_until_settled(std::stop_token stop) const override;
  std::optional<nlohmann::json> result(const std::string& id) const override;
  std::vector<Failure> failures() const override;

  static void remove(Cluster::Impl& cluster, const std::string& name);
  /// counts() as the broker has it, without ending leases that have run out.
  static Counts counts_of(Cluster::Impl& cluster, const std::string& name);

  /// Lets the broker deliver a task as soon as there is one, for a process that waits for several
  /// queues. Such a task is leased with lease_delivered(), or else given back at the end.
  /// Thread-compatible.
  class Waiting {
   public:
    explicit Waiting(ClusterQueue& queue) : queue_(queue) { queue_.begin_waiting(); }
    ~Waiting() { queue_.end_waiting(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    std::optional<Lease> lease_delivered(Clock::duration time);

   private:
    ClusterQueue& queue_;
  };

  /// Creates the consumer, unless it exists. Throws ClusterError.
  void create_consumer();
  /// Takes the result of a task back, because it cannot be used; that counts as a failed attempt.
  /// `sequence`: of the message that settled the task; nothing changes if there is another one.
  void refuse_result(const std::string& task, std::uint64_t sequence, const std::string& reason);
  /// Lets tasks that were given up wait again, without failed attempts.
  void revive();
  /// This process does not lease another attempt of the task before then, so that others do.
  void avoid(const std::string& task, Clock::time_point until) VCAP_EXCLUDES(mutex_);

  /// When a lease runs out, so that its task becomes available; time_point::max() if there is none.
  Clock::time_point first_end() const VCAP_EXCLUDES(mutex_);
  Clock& clock() const noexcept { return *clock_; }

 private:
  /// A record as it was read; sequence 0: there is none.
  struct Known {
    LeaseRecord record{};
    std::uint64_t sequence = 0;
  };

  std::string task_subject(const std::string& id) const;
  std::string lease_subject(const std::string& id) const;
  std::string settled_subject(const std::string& id) const;
  Known read(const std::string& task) const;
  /// An invalid message is removed: it settles nothing.
  std::optional<SettledMessage> settled(const std::string& task) const;
  bool is_settled(const std::string& task) const { return settled(task).has_value(); }
  bool exists(const std::string& task) const;
  std::optional<Known> held(const Lease& lease) const;
  /// Replaces the record; false if it is not the one that was read any more.
  bool replace(const std::string& task, std::uint64_t sequence, const LeaseRecord& record) const;
  bool tidy(const std::string& task) const;
  bool attempt_failed(const std::string& task, const Known& known, const std::string& reason) const;
  bool give_up(const std::string& task, const LeaseRecord& record) const;
  void end_run_out() const VCAP_EXCLUDES(mutex_);
  void end_if_run_out(const std::string& task) const;

  std::optional<Lease> take(Clock::duration time, bool may_ask);
  std::optional<DeliveredMessage> next_fresh(bool may_ask) VCAP_EXCLUDES(mutex_);
  std::optional<Lease> claim(const std::string& task, const DeliveredMessage* fresh,
                             Clock::duration time);

  void load_view() VCAP_EXCLUDES(mutex_);
  void note_lease(const BrokerMessage& message) VCAP_EXCLUDES(mutex_);
  void note_settled(const BrokerMessage& message) VCAP_EXCLUDES(mutex_);
  void note_fresh(BrokerMessage message) VCAP_EXCLUDES(mutex_);
  void changed() const VCAP_EXCLUDES(mutex_);
  void ask_for_fresh() VCAP_EXCLUDES(mutex_);
  void wait(std::uint64_t seen, const std::stop_token& stop) const VCAP_EXCLUDES(mutex_);
  std::uint64_t changes() const VCAP_EXCLUDES(mutex_);
  void begin_waiting() VCAP_EXCLUDES(mutex_);
  void end_waiting() VCAP_EXCLUDES(mutex_);
  void keep_up(const std::stop_token& stop) VCAP_EXCLUDES(mutex_);
  bool is_stalled() const;

  const std::shared_ptr<Cluster> cluster_;
  JetStream& jet_stream_;
  const Site& site_;
  const std::string name_;
  const std::string consumer_;
  const int max_attempts_;
  const std::shared_ptr<Clock> clock_;
  const std::string inbox_;  ///< for tasks that are waited for
  const std::function<void()> on_change_;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  mutable LeaseView view_ VCAP_GUARDED_BY(mutex_);
  mutable std::uint64_t changes_ VCAP_GUARDED_BY(mutex_) = 0;  ///< what waiters wake for
  std::map<std::string, Clock::time_point> avoided_ VCAP_GUARDED_BY(mutex_);
  std::deque<DeliveredMessage> fresh_ VCAP_GUARDED_BY(mutex_);
  std::size_t waiters_ VCAP_GUARDED_BY(mutex_) = 0;
  bool is_asking_ VCAP_GUARDED_BY(mutex_) = false;  ///< a request for a task is open
  std::uint64_t deliveries_ VCAP_GUARDED_BY(mutex_) = 0;
  bool is_behind_ VCAP_GUARDED_BY(mutex_) = false;  ///< messages may have been lost
  StoppableCondVar behind_;

  // Their threads use the members above.
  std::vector<std::unique_ptr<BrokerSubscription>> subscriptions_;
  std::optional<Cluster::Impl::Watch> watch_;
  std::jthread keeper_;
};

}  // namespace vcap
