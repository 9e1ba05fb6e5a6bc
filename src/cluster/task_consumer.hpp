// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/thread_annotations.hpp"
#include "cluster/jet_stream.hpp"
#include "cluster/site.hpp"

namespace vcap {

/// Delivers the tasks of a queue in their order, each once: a durable consumer of the broker, which
/// all workers share. A task that is neither accepted nor given back is delivered again after a
/// while. Borrows JetStream. Thread safety: thread-safe.
class TaskConsumer {
 public:
  struct Callbacks {
    std::function<void()> on_delivery{};  ///< next_delivered() has a task [subscription's thread]
    /// The broker refuses to deliver, such as if the consumer is gone. [subscription's thread]
    std::function<void()> on_refusal{};
  };

  /// Creates the consumer, unless it exists. Throws ClusterError, InvalidArgument for a name that
  /// is not 1 to 64 bytes.
  TaskConsumer(JetStream& jet_stream, const Site& site, const std::string& queue,
               Callbacks callbacks);
  static void remove(JetStream& jet_stream, const Site& site, const std::string& queue);

  /// Creates the consumer, unless it exists.
  void create();
  /// Replaces the consumer; it delivers all tasks again.
  void create_anew() VCAP_EXCLUDES(mutex_);

  /// The next task. Asks the broker, which may take a moment to say that there is none.
  std::optional<DeliveredMessage> next() VCAP_EXCLUDES(mutex_);
  /// The next task that the broker has sent because of ask().
  std::optional<DeliveredMessage> next_delivered() VCAP_EXCLUDES(mutex_);
  void accept(const DeliveredMessage& message);
  /// It is delivered again at once.
  void give_back(const DeliveredMessage& message);

  /// Around a time in which somebody waits for tasks. What was delivered and not taken then is
  /// given back.
  void begin_waiting() VCAP_EXCLUDES(mutex_);
  void end_waiting() VCAP_EXCLUDES(mutex_);
  /// If somebody waits, lets the broker send the next task as soon as there is one.
  void ask() VCAP_EXCLUDES(mutex_);
  /// The broker may have lost what was asked.
  void forget_request() VCAP_EXCLUDES(mutex_);
  /// Whether somebody waits, and nothing was delivered since the last call.
  bool waits_in_vain() VCAP_EXCLUDES(mutex_);

 private:
  void note(BrokerMessage message) VCAP_EXCLUDES(mutex_);

  JetStream& jet_stream_;
  const std::string stream_;
  const std::string filter_;
  const std::string name_;
  const std::string inbox_;  ///< for tasks that are waited for
  const Callbacks callbacks_;

  Mutex mutex_;
  std::deque<DeliveredMessage> delivered_ VCAP_GUARDED_BY(mutex_);
  std::size_t waiters_ VCAP_GUARDED_BY(mutex_) = 0;
  bool is_asking_ VCAP_GUARDED_BY(mutex_) = false;  ///< a request for a task is open
  bool has_delivered_ VCAP_GUARDED_BY(mutex_) = false;

  std::unique_ptr<BrokerSubscription> subscription_;  ///< its thread uses the members above
};

}  // namespace vcap
