// SPDX-License-Identifier: Apache-2.0
#include "cluster/task_consumer.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::size_t kLongestQueueName = 64;
/// A task that was delivered, but not leased for so long, is delivered to another worker.
constexpr seconds kDeliveryWait{10};
/// How long next() waits for the broker to say that there is no task.
constexpr milliseconds kBriefly{2};
/// The same if the broker says that there is one.
constexpr milliseconds kPatiently{500};
/// A request for a task is open for so long at the server, then it is made again.
constexpr seconds kRequestTime{30};

std::string consumer_of(const std::string& queue) {
  if (queue.empty() || queue.size() > kLongestQueueName)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the name of the queue, " + quote(queue) + ", has " +
                              std::to_string(queue.size()) + " bytes; 1 to " +
                              std::to_string(kLongestQueueName) + " are allowed");
  return "queue-" + to_token(queue);
}

}  // namespace

TaskConsumer::TaskConsumer(JetStream& jet_stream, const Site& site, const std::string& queue,
                           Callbacks callbacks)
    : jet_stream_(jet_stream),
      stream_(site.stream(Site::Kind::task)),
      filter_(site.all(Site::Kind::task, {queue})),
      name_(consumer_of(queue)),
      inbox_(jet_stream.broker().new_inbox()),
      callbacks_(std::move(callbacks)) {
  create();
  subscription_ = jet_stream_.broker().subscribe(
      inbox_, [this](BrokerMessage message) { note(std::move(message)); });
}

void TaskConsumer::remove(JetStream& jet_stream, const Site& site, const std::string& queue) {
  jet_stream.ask("CONSUMER.DELETE." + site.stream(Site::Kind::task) + '.' + consumer_of(queue),
                 nullptr);
}

void TaskConsumer::create() {
  jet_stream_.demand("CONSUMER.DURABLE.CREATE." + stream_ + '.' + name_,
                     {{"stream_name", stream_},
                      {"config",
                       {{"durable_name", name_},
                        {"filter_subject", filter_},
                        {"deliver_policy", "all"},
                        {"ack_policy", "explicit"},
                        {"ack_wait", nanoseconds(kDeliveryWait).count()},
                        {"max_deliver", -1},
                        {"max_ack_pending", 20'000},
                        {"max_waiting", 10'000}}}});
}

void TaskConsumer::create_anew() {
  jet_stream_.ask("CONSUMER.DELETE." + stream_ + '.' + name_, nullptr);
  create();
  forget_request();
}

std::optional<DeliveredMessage> TaskConsumer::next() {
  if (auto message = next_delivered()) return message;
  try {
    std::vector<DeliveredMessage> messages = jet_stream_.fetch(stream_, name_, 1, kBriefly);
    // A busy server may not deliver in that time.
    if (messages.empty() && jet_stream_.pending(stream_, name_) > 0)
      messages = jet_stream_.fetch(stream_, name_, 1, kPatiently);
    if (!messages.empty()) return std::move(messages.front());
  } catch (const ClusterError& error) {
    if (error.code() != ErrorCode::object_missing) throw;
    create();  // the server has lost it, or somebody has removed it
  }
  return std::nullopt;
}

std::optional<DeliveredMessage> TaskConsumer::next_delivered() {
  const MutexLock lock(mutex_);
  if (delivered_.empty()) return std::nullopt;
  DeliveredMessage message = std::move(delivered_.front());
  delivered_.pop_front();
  return message;
}

void TaskConsumer::ask() {
  {
    const MutexLock lock(mutex_);
    if (is_asking_ || waiters_ == 0) return;
    is_asking_ = true;
  }
  const nlohmann::json request = {{"batch", 1}, {"expires", nanoseconds(kRequestTime).count()}};
  jet_stream_.broker().publish({.subject = "$JS.API.CONSUMER.MSG.NEXT." + stream_ + '.' + name_,
                                .body = request.dump(),
                                .reply = inbox_});
}

/// What the broker answers to ask().
void TaskConsumer::note(BrokerMessage message) {
  const std::string status(message.status());
  std::optional<DeliveredMessage> refused;
  bool ask_again = false;
  {
    const MutexLock lock(mutex_);
    is_asking_ = false;
    if (!status.empty()) {
      ask_again = waiters_ > 0 && status == "408";  // the time is over
    } else if (waiters_ > 0) {
      delivered_.push_back(delivered(std::move(message)));
      has_delivered_ = true;
    } else {
      refused = delivered(std::move(message));
    }
  }
  if (refused) give_back(*refused);
  if (ask_again) ask();
  if (status.empty()) callbacks_.on_delivery();
  // Such as 409 for a consumer that was deleted.
  if (!status.empty() && status != "408") callbacks_.on_refusal();
}

void TaskConsumer::begin_waiting() {
  const MutexLock lock(mutex_);
  ++waiters_;
}

void TaskConsumer::end_waiting() {
  std::deque<DeliveredMessage> left;
  {
    const MutexLock lock(mutex_);
    if (--waiters_ == 0) left.swap(delivered_);
  }
  for (const DeliveredMessage& message : left) give_back(message);
}

bool TaskConsumer::waits_in_vain() {
  const MutexLock lock(mutex_);
  return !std::exchange(has_delivered_, false) && waiters_ > 0;
}

void TaskConsumer::forget_request() {
  const MutexLock lock(mutex_);
  is_asking_ = false;
}

void TaskConsumer::accept(const DeliveredMessage& message) { jet_stream_.answer(message, "+ACK"); }
void TaskConsumer::give_back(const DeliveredMessage& message) {
  jet_stream_.answer(message, "-NAK");
}

}  // namespace vcap
