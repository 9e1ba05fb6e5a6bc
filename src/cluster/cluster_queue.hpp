// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
#include "cluster/task_consumer.hpp"
#include "cluster/task_records.hpp"
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
  /// `on_change`: called when a task may have become available. [any thread] After a request of
  /// `stop`, nothing waits for a broker that does not answer.
  ClusterQueue(std::shared_ptr<Cluster> cluster, const std::string& name, Settings settings,
               std::function<void()> on_change = {}, std::stop_token stop = {});
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
  static Counts counts_of(Cluster::Impl& cluster, const std::string& name) {
    return TaskRecords::counts_of(cluster, name);
  }

  /// The payload in the message of a task. Throws ClusterError (invalid_message).
  static nlohmann::json payload_of(const std::string& message);

  /// Lets the broker deliver a task as soon as there is one, for a process that waits for several
  /// queues. Such a task is leased with lease_delivered(), or else given back at the end.
  /// Thread-compatible.
  class Waiting {
   public:
    explicit Waiting(ClusterQueue& queue) : queue_(queue) { queue_.consumer_->begin_waiting(); }
    ~Waiting() { queue_.consumer_->end_waiting(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    std::optional<Lease> lease_delivered(Clock::duration time);

   private:
    ClusterQueue& queue_;
  };

  /// Creates the consumer, unless it exists. Throws ClusterError.
  void create_consumer() { consumer_->create(); }
  /// Takes the result of a task back, because it cannot be used; that counts as a failed attempt.
  /// `sequence`: of the message that settled the task; nothing changes if there is another one.
  void refuse_result(const std::string& task, std::uint64_t sequence, const std::string& reason) {
    records_->refuse_result(task, sequence, reason);
  }
  /// Lets tasks that were given up wait again, without failed attempts.
  void revive() { records_->revive(); }
  /// This process does not lease another attempt of the task before then, so that others do.
  void avoid(const std::string& task, Clock::time_point until) VCAP_EXCLUDES(mutex_);

  /// When a lease runs out, so that its task becomes available; time_point::max() if there is none.
  Clock::time_point first_end() const { return records_->first_end(); }
  Clock& clock() const noexcept { return *clock_; }

 private:
  std::string task_subject(const std::string& id) const;
  std::optional<Lease> take(Clock::duration time, bool may_ask);
  std::optional<Lease> claim(const std::string& task, const DeliveredMessage* fresh,
                             Clock::duration time);
  std::map<std::string, Clock::time_point> avoided() VCAP_EXCLUDES(mutex_);
  void changed() const VCAP_EXCLUDES(mutex_);
  std::uint64_t changes() const VCAP_EXCLUDES(mutex_);
  void wait(std::uint64_t seen, const std::stop_token& stop) const VCAP_EXCLUDES(mutex_);
  void fall_behind(Clock::duration time) VCAP_EXCLUDES(mutex_);
  void keep_up(const std::stop_token& stop) VCAP_EXCLUDES(mutex_);
  bool is_stalled() const;

  const std::shared_ptr<Cluster> cluster_;
  std::stop_source ending_;
  const std::stop_callback<std::function<void()>> stopping_;
  JetStream jet_stream_;  ///< the end does not wait for a broker that does not answer
  const Site& site_;
  const std::string name_;
  const std::shared_ptr<Clock> clock_;
  const std::function<void()> on_change_;

  mutable Mutex mutex_;  ///< before those of the records and of the consumer
  mutable CondVar changed_;
  mutable std::uint64_t changes_ VCAP_GUARDED_BY(mutex_) = 0;  ///< what waiters wake for
  std::map<std::string, Clock::time_point> avoided_ VCAP_GUARDED_BY(mutex_);
  bool is_behind_ VCAP_GUARDED_BY(mutex_) = false;  ///< messages may have been lost
  Clock::duration rest_ VCAP_GUARDED_BY(mutex_){};  ///< before something is done about that
  StoppableCondVar behind_;

  // Their threads use the members above.
  const std::unique_ptr<TaskRecords> records_;
  const std::unique_ptr<TaskConsumer> consumer_;
  std::optional<Cluster::Impl::Watch> watch_;
  std::jthread keeper_;
};

}  // namespace vcap
