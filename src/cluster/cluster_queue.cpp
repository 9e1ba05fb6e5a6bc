// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_queue.hpp"

#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/cluster_clock.hpp"
#include "cluster/message_json.hpp"
#include "jobs/task_checks.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using State = LeaseRecord::State;
using std::chrono::seconds;

constexpr const char* kTask = "vcap.task/1";
constexpr std::size_t kLongestQueueName = 64;
/// A task that was delivered, but not leased for so long, is delivered to another worker.
constexpr seconds kDeliveryWait{10};
/// How long try_lease() waits for the broker to say that there is no task.
constexpr std::chrono::milliseconds kBriefly{2};
/// The same if the broker says that there is one.
constexpr std::chrono::milliseconds kPatiently{500};
/// A request for a task is open for so long at the server, then it is made again.
constexpr seconds kRequestTime{30};
/// How often a worker that waits checks that the consumer still delivers.
constexpr seconds kCheckTime{10};
constexpr seconds kRetryWait{1};
/// How long a task is in the state `giving_up`, if the process that gives it up dies meanwhile.
constexpr seconds kGivingUpTime{10};

std::string consumer_of(const std::string& queue) {
  if (queue.empty() || queue.size() > kLongestQueueName)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the name of the queue, " + quote(queue) + ", has " +
                              std::to_string(queue.size()) + " bytes; 1 to " +
                              std::to_string(kLongestQueueName) + " are allowed");
  return "queue-" + to_token(queue);
}

int checked(int max_attempts) {
  check_max_attempts(max_attempts);
  return max_attempts;
}

/// Differs from those of all other leases, whoever made them. JSON has 63 bits in all languages.
std::uint64_t new_number() {
  std::uint64_t number = 0;
  ::randombytes_buf(&number, sizeof number);
  return number >> 1;
}

std::uint64_t sequence_of(const BrokerMessage& message) {
  const std::string_view text = message.header("Nats-Sequence");
  std::uint64_t sequence = 0;
  std::from_chars(text.data(), text.data() + text.size(), sequence);
  return sequence;
}

/// The task and its record; `nullopt` for a message that is not valid.
std::optional<std::pair<std::string, LeaseRecord>> valid_lease(const StoredMessage& message) {
  try {
    return std::pair(last_token(message.subject), read_lease(message.body));
  } catch (const ClusterError& error) {
    log(LogLevel::warning,
        "cluster: the message on " + quote(message.subject) + " is ignored: " + error.what());
    return std::nullopt;
  }
}

json task_message(json payload) { return {{"schema", kTask}, {"payload", std::move(payload)}}; }

}  // namespace

ClusterQueue::ClusterQueue(std::shared_ptr<Cluster> cluster, const std::string& name,
                           Settings settings, std::function<void()> on_change)
    : cluster_(std::move(cluster)),
      jet_stream_(cluster_->impl().jet_stream),
      site_(cluster_->impl().site),
      name_(name),
      consumer_(consumer_of(name)),
      max_attempts_(checked(settings.max_attempts)),
      clock_(settings.clock
                 ? std::move(settings.clock)
                 : std::make_shared<ClusterClock>(jet_stream_, site_.stream(Site::Kind::lease))),
      inbox_(jet_stream_.broker().new_inbox()),
      on_change_(std::move(on_change)) {
  create_consumer();
  Broker& broker = jet_stream_.broker();
  subscriptions_.push_back(
      broker.subscribe(inbox_, [this](BrokerMessage message) { note_fresh(std::move(message)); }));
  subscriptions_.push_back(
      broker.subscribe(site_.notes(Site::Kind::lease, {name_}),
                       [this](const BrokerMessage& message) { note_lease(message); }));
  subscriptions_.push_back(
      broker.subscribe(site_.notes(Site::Kind::settled, {name_}),
                       [this](const BrokerMessage& message) { note_settled(message); }));
  load_view();
  watch_.emplace(cluster_->impl(), [this] {
    const MutexLock lock(mutex_);
    is_behind_ = true;
    behind_.notify_all();
  });
  keeper_ = std::jthread([this](const std::stop_token& stop) { keep_up(stop); });
}

ClusterQueue::~ClusterQueue() {
  watch_.reset();
  keeper_ = {};
  subscriptions_.clear();
}

void ClusterQueue::create_consumer() {
  using std::chrono::nanoseconds;
  const std::string stream = site_.stream(Site::Kind::task);
  jet_stream_.demand("CONSUMER.DURABLE.CREATE." + stream + '.' + consumer_,
                     {{"stream_name", stream},
                      {"config",
                       {{"durable_name", consumer_},
                        {"filter_subject", site_.all(Site::Kind::task, {name_})},
                        {"deliver_policy", "all"},
                        {"ack_policy", "explicit"},
                        {"ack_wait", nanoseconds(kDeliveryWait).count()},
                        {"max_deliver", -1},
                        {"max_ack_pending", 20'000},
                        {"max_waiting", 10'000}}}});
}

void ClusterQueue::remove(Cluster::Impl& cluster, const std::string& name) {
  const std::string consumer = consumer_of(name);
  JetStream& jet_stream = cluster.jet_stream;
  jet_stream.ask("CONSUMER.DELETE." + cluster.site.stream(Site::Kind::task) + '.' + consumer,
                 nullptr);
  for (const Site::Kind kind : {Site::Kind::task, Site::Kind::lease, Site::Kind::settled})
    jet_stream.purge(cluster.site.stream(kind), cluster.site.all(kind, {name}));
}

std::string ClusterQueue::task_subject(const std::string& id) const {
  return site_.subject(Site::Kind::task, {name_, id});
}
std::string ClusterQueue::lease_subject(const std::string& id) const {
  return site_.subject(Site::Kind::lease, {name_, id});
}
std::string ClusterQueue::settled_subject(const std::string& id) const {
  return site_.subject(Site::Kind::settled, {name_, id});
}

bool ClusterQueue::put(std::string id, json payload) {
  check_task_id(id);
  check_task_payload(id, payload);
  end_run_out();
  return jet_stream_.store(task_subject(id), task_message(std::move(payload)).dump(), 0)
      .has_value();
}

std::size_t ClusterQueue::put_all(std::vector<NewTask> tasks) {
  std::vector<JetStream::NewMessage> messages;
  for (NewTask& task : tasks) {
    check_task_id(task.id);
    check_task_payload(task.id, task.payload);
    messages.push_back({task_subject(task.id), task_message(std::move(*task.payload)).dump()});
  }
  const std::vector<bool> stored = jet_stream_.store_new(messages);
  return static_cast<std::size_t>(std::ranges::count(stored, true));
}

std::optional<TaskQueue::Lease> ClusterQueue::try_lease(Clock::duration time) {
  check_lease_time(time);
  return take(time, true);
}

std::optional<TaskQueue::Lease> ClusterQueue::lease(Clock::duration time, std::stop_token stop) {
  check_lease_time(time);
  if (stop.stop_requested()) return std::nullopt;
  if (std::optional<Lease> lease = take(time, true)) return lease;
  const std::stop_callback wake(stop, [this] { changed(); });
  Waiting waiting(*this);
  while (!stop.stop_requested()) {
    const std::uint64_t seen = changes();
    if (std::optional<Lease> lease = waiting.lease_delivered(time)) return lease;
    wait(seen, stop);
  }
  return std::nullopt;
}

std::optional<TaskQueue::Lease> ClusterQueue::Waiting::lease_delivered(Clock::duration time) {
  auto lease = queue_.take(time, false);
  if (!lease) queue_.ask_for_fresh();
  return lease;
}

/// `may_ask`: whether to ask the broker for a task that was never leased. Otherwise only those
/// count that it has sent already.
std::optional<TaskQueue::Lease> ClusterQueue::take(Clock::duration time, bool may_ask) {
  end_run_out();
  for (;;) {
    const std::optional<DeliveredMessage> fresh = next_fresh(may_ask);
    std::optional<LeaseView::Waiting> waiting;
    {
      const MutexLock lock(mutex_);
      const Clock::time_point now = clock_->now();
      std::erase_if(avoided_, [&](const auto& entry) { return entry.second <= now; });
      waiting = view_.first_waiting(avoided_);
    }
    if (waiting && (!fresh || waiting->place < fresh->sequence)) {
      if (fresh) jet_stream_.answer(*fresh, "-NAK");  // so that it is delivered again at once
      if (auto lease = claim(waiting->task, nullptr, time)) return lease;
    } else if (fresh) {
      const std::string task = last_token(fresh->subject);
      auto lease = claim(task, &*fresh, time);
      jet_stream_.answer(*fresh, "+ACK");  // now the record says what becomes of it
      if (lease) return lease;
    } else {
      return std::nullopt;
    }
  }
}

std::optional<DeliveredMessage> ClusterQueue::next_fresh(bool may_ask) {
  {
    const MutexLock lock(mutex_);
    if (!fresh_.empty()) {
      DeliveredMessage message = std::move(fresh_.front());
      fresh_.pop_front();
      return message;
    }
  }
  if (!may_ask) return std::nullopt;
  const std::string stream = site_.stream(Site::Kind::task);
  try {
    std::vector<DeliveredMessage> messages = jet_stream_.fetch(stream, consumer_, 1, kBriefly);
    // A busy server may not deliver in that time.
    if (messages.empty() && jet_stream_.pending(stream, consumer_) > 0)
      messages = jet_stream_.fetch(stream, consumer_, 1, kPatiently);
    if (!messages.empty()) return std::move(messages.front());
  } catch (const ClusterError& error) {
    if (error.code() != ErrorCode::object_missing) throw;
    create_consumer();  // the server has lost it, or somebody has removed it
  }
  return std::nullopt;
}

/// `nullopt` if the task cannot be leased now; then the view is up to date.
std::optional<TaskQueue::Lease> ClusterQueue::claim(const std::string& task,
                                                    const DeliveredMessage* fresh,
                                                    Clock::duration time) {
  const Known known = read(task);
  const Clock::time_point now = clock_->now();
  if (is_settled(task)) {
    tidy(task);
    return std::nullopt;
  }
  if (known.sequence > 0 && known.record.state != State::waiting) {
    end_if_run_out(task);
    return std::nullopt;
  }
  LeaseRecord next = known.record;
  next.state = State::leased;
  next.number = new_number();
  next.until = end_of_lease(now, time);
  if (known.sequence == 0 && fresh != nullptr) next.place = fresh->sequence;
  if (!replace(task, known.sequence, next)) {
    read(task);
    return std::nullopt;
  }
  if (is_settled(task)) {  // between the two
    tidy(task);
    return std::nullopt;
  }
  std::string body = fresh != nullptr ? fresh->body : std::string();
  if (fresh == nullptr)
    if (auto message = jet_stream_.last(site_.stream(Site::Kind::task), task_subject(task)))
      body = std::move(message->body);
  json message = parse_message(body, kTask);
  if (!message.contains("payload")) refuse_message(kTask, "it has no payload");
  return Lease{.task = task,
               .payload = std::move(message["payload"]),
               .number = next.number,
               .attempt = static_cast<int>(next.reasons.size()) + 1};
}

/// Also tells the view.
ClusterQueue::Known ClusterQueue::read(const std::string& task) const {
  const auto message = jet_stream_.last(site_.stream(Site::Kind::lease), lease_subject(task));
  bool has_changed = false;
  Known known;
  if (message) {
    // An invalid record is replaced as if there were none.
    const auto valid = valid_lease(*message);
    known = {valid ? valid->second : LeaseRecord(), message->sequence};
  }
  {
    const MutexLock lock(mutex_);
    has_changed = message ? view_.set(task, known.sequence, known.record) : view_.remove(task);
  }
  if (has_changed) changed();
  return known;
}

std::optional<SettledMessage> ClusterQueue::settled(const std::string& task) const {
  const std::string stream = site_.stream(Site::Kind::settled);
  const auto message = jet_stream_.last(stream, settled_subject(task));
  if (!message) return std::nullopt;
  try {
    return read_settled(message->body);
  } catch (const ClusterError& error) {
    log(LogLevel::warning, "cluster: task " + quote(task) + ": " + error.what());
  }
  jet_stream_.erase(stream, message->sequence);
  return std::nullopt;
}

bool ClusterQueue::exists(const std::string& task) const {
  return jet_stream_.last(site_.stream(Site::Kind::task), task_subject(task)).has_value();
}

bool ClusterQueue::replace(const std::string& task, std::uint64_t sequence,
                           const LeaseRecord& record) const {
  const auto stored = jet_stream_.store(lease_subject(task), to_message(record), sequence);
  if (!stored) return false;
  bool has_changed = false;
  {
    const MutexLock lock(mutex_);
    has_changed = view_.set(task, *stored, record);
  }
  if (has_changed) changed();
  return true;
}

/// Lets the record say what became of a settled task; without failed attempts, there is none any
/// more. Returns whether the task is given up.
bool ClusterQueue::tidy(const std::string& task) const {
  const std::optional<SettledMessage> settled = this->settled(task);
  if (!settled) return false;
  const bool is_given_up = !settled->is_done;
  for (;;) {
    Known known = read(task);
    LeaseRecord& record = known.record;
    if (known.sequence == 0 || record.state == State::done || record.state == State::given_up)
      break;
    if (is_given_up) {
      record.reasons = settled->reasons;
    } else if (record.state == State::giving_up) {
      record.reasons.pop_back();  // the result came before the task was given up
    }
    if (record.reasons.empty()) {
      jet_stream_.erase(site_.stream(Site::Kind::lease), known.sequence);
      continue;
    }
    record.state = is_given_up ? State::given_up : State::done;
    replace(task, known.sequence, record);
  }
  changed();
  return is_given_up;
}

/// The lease, if it is still valid. Throws InvalidArgument for a task that does not exist.
std::optional<ClusterQueue::Known> ClusterQueue::held(const Lease& lease) const {
  end_run_out();
  const Known known = read(lease.task);
  if (known.sequence == 0 && !exists(lease.task)) refuse_unknown_task(lease.task);
  if (known.sequence == 0 || known.record.number != lease.number ||
      !known.record.is_leased(clock_->now()))
    return std::nullopt;
  return known;
}

bool ClusterQueue::renew(const Lease& lease, Clock::duration time) {
  check_lease_time(time);
  const auto known = held(lease);
  if (!known) return false;
  LeaseRecord next = known->record;
  next.until = end_of_lease(clock_->now(), time);
  return replace(lease.task, known->sequence, next) && !is_settled(lease.task);
}

bool ClusterQueue::complete(const Lease& lease, json result) {
  check_task_result(lease.task, result);
  end_run_out();
  const Known known = read(lease.task);
  if (known.sequence == 0 && !exists(lease.task)) refuse_unknown_task(lease.task);
  if (known.record.state == State::giving_up) give_up(lease.task, known.record);
  const std::string message = to_message(SettledMessage{true, std::move(result), {}});
  if (!jet_stream_.store(settled_subject(lease.task), message, 0)) return false;
  tidy(lease.task);
  return true;
}

bool ClusterQueue::fail(const Lease& lease, std::string reason) {
  const auto known = held(lease);
  return known && attempt_failed(lease.task, *known, reason);
}

bool ClusterQueue::release(const Lease& lease) {
  const auto known = held(lease);
  if (!known) return false;
  LeaseRecord next = known->record;
  next.state = State::waiting;
  return replace(lease.task, known->sequence, next);
}

/// False if another process was faster.
bool ClusterQueue::attempt_failed(const std::string& task, const Known& known,
                                  const std::string& reason) const {
  LeaseRecord next = known.record;
  next.reasons.push_back(bounded_text(reason));
  if (next.reasons.size() < static_cast<std::size_t>(max_attempts_)) {
    next.state = State::waiting;
    next.place = jet_stream_.last_sequence(site_.stream(Site::Kind::task));
    return replace(task, known.sequence, next);
  }
  next.state = State::giving_up;
  next.until = end_of_lease(clock_->now(), kGivingUpTime);
  if (!replace(task, known.sequence, next)) return false;
  return give_up(task, next);
}

/// Settles a task whose record says that it is given up. False if a result came first; then the
/// last attempt has not failed.
bool ClusterQueue::give_up(const std::string& task, const LeaseRecord& record) const {
  const std::string message = to_message(SettledMessage{false, {}, record.reasons});
  jet_stream_.store(settled_subject(task), message, 0);
  return tidy(task);
}

/// Ends the leases that have run out, as far as they are known.
void ClusterQueue::end_run_out() const {
  std::vector<std::string> tasks;
  {
    const MutexLock lock(mutex_);
    const Clock::time_point now = clock_->now();
    if (view_.first_end() <= now) tasks = view_.run_out(now);
  }
  for (const std::string& task : tasks) end_if_run_out(task);
}

void ClusterQueue::end_if_run_out(const std::string& task) const {
  const Known known = read(task);
  if (known.sequence == 0) return;
  if (known.record.state == State::giving_up && clock_->now() >= known.record.until)
    give_up(task, known.record);
  else if (known.record.has_run_out(clock_->now()))
    attempt_failed(task, known, kLeaseRanOut);
}

void ClusterQueue::refuse_result(const std::string& task, std::uint64_t sequence,
                                 const std::string& reason) {
  const std::string stream = site_.stream(Site::Kind::settled);
  const auto message = jet_stream_.last(stream, settled_subject(task));
  if (!message || message->sequence != sequence) return;  // there is another one since
  jet_stream_.erase(stream, sequence);
  attempt_failed(task, read(task), reason);
}

void ClusterQueue::revive() {
  for (const Failure& failure : failures()) {
    if (!failure.given_up) continue;
    const std::string stream = site_.stream(Site::Kind::settled);
    const auto message = jet_stream_.last(stream, settled_subject(failure.task));
    if (message) jet_stream_.erase(stream, message->sequence);
    const std::uint64_t place = jet_stream_.last_sequence(site_.stream(Site::Kind::task));
    replace(failure.task, read(failure.task).sequence, {.state = State::waiting, .place = place});
  }
}

void ClusterQueue::avoid(const std::string& task, Clock::time_point until) {
  const MutexLock lock(mutex_);
  avoided_[task] = until;
}

TaskQueue::Counts ClusterQueue::counts() const {
  end_run_out();
  return counts_of(cluster_->impl(), name_);
}

TaskQueue::Counts ClusterQueue::counts_of(Cluster::Impl& cluster, const std::string& name) {
  using Kind = Site::Kind;
  const Site& site = cluster.site;
  JetStream& jet_stream = cluster.jet_stream;
  Counts counts;
  // In this order: what is settled has been put before.
  const std::uint64_t settled =
      jet_stream.count(site.stream(Kind::settled), site.all(Kind::settled, {name}));
  const std::uint64_t put = jet_stream.count(site.stream(Kind::task), site.all(Kind::task, {name}));
  jet_stream.each(site.stream(Kind::lease), site.all(Kind::lease, {name}),
                  [&](const StoredMessage& message) {
                    const auto known = valid_lease(message);
                    if (!known) return;
                    const State state = known->second.state;
                    counts.leased += state == State::leased || state == State::giving_up;
                    counts.given_up += state == State::given_up;
                  });
  // They were not read at one moment.
  const std::uint64_t open = put - std::min(put, settled);
  counts.done = settled - std::min<std::uint64_t>(settled, counts.given_up);
  counts.leased = std::min<std::uint64_t>(counts.leased, open);
  counts.waiting = open - counts.leased;
  return counts;
}

bool ClusterQueue::wait_until_settled(std::stop_token stop) const {
  const std::stop_callback wake(stop, [this] { changed(); });
  while (!stop.stop_requested()) {
    const std::uint64_t seen = changes();
    const Counts now = counts();
    if (now.waiting + now.leased == 0) return true;
    wait(seen, stop);
  }
  return false;
}

std::optional<json> ClusterQueue::result(const std::string& id) const {
  end_run_out();
  std::optional<SettledMessage> settled = this->settled(id);
  if (!settled || !settled->is_done) return std::nullopt;
  return std::move(settled->result);
}

std::vector<TaskQueue::Failure> ClusterQueue::failures() const {
  end_run_out();
  std::vector<Failure> failures;
  for (const StoredMessage& message :
       jet_stream_.all(site_.stream(Site::Kind::lease), site_.all(Site::Kind::lease, {name_}))) {
    auto known = valid_lease(message);
    if (known && !known->second.reasons.empty())
      failures.push_back({.task = std::move(known->first),
                          .reasons = std::move(known->second.reasons),
                          .given_up = known->second.state == State::given_up});
  }
  std::ranges::sort(failures, {}, &Failure::task);
  return failures;
}

void ClusterQueue::load_view() {
  const std::vector<StoredMessage> messages =
      jet_stream_.all(site_.stream(Site::Kind::lease), site_.all(Site::Kind::lease, {name_}));
  {
    const MutexLock lock(mutex_);
    view_.clear();
    for (const StoredMessage& message : messages)
      if (const auto known = valid_lease(message))
        view_.set(known->first, message.sequence, known->second);
  }
  changed();
}

void ClusterQueue::note_lease(const BrokerMessage& message) {
  bool has_changed = false;
  try {
    const LeaseRecord record = read_lease(message.body);
    const MutexLock lock(mutex_);
    has_changed = view_.set(last_token(message.subject), sequence_of(message), record);
  } catch (const ClusterError& error) {
    log(LogLevel::warning, "cluster: a lease is ignored: " + std::string(error.what()));
  }
  if (has_changed) changed();
}

void ClusterQueue::note_settled(const BrokerMessage& message) {
  {
    const MutexLock lock(mutex_);
    view_.remove(last_token(message.subject));
  }
  changed();
}

/// What the broker answers to ask_for_fresh().
void ClusterQueue::note_fresh(BrokerMessage message) {
  const std::string status(message.status());
  std::optional<DeliveredMessage> refused;
  bool ask = false;
  {
    const MutexLock lock(mutex_);
    is_asking_ = false;
    if (!status.empty()) {
      // 408: the time is over. After others, such as 409 for a consumer that was deleted, keep_up()
      // sees to it.
      ask = waiters_ > 0 && status == "408";
      is_behind_ = is_behind_ || status != "408";
      behind_.notify_all();
    } else if (waiters_ > 0) {
      fresh_.push_back(delivered(std::move(message)));
      ++deliveries_;
    } else {
      refused = delivered(std::move(message));
    }
  }
  if (refused) jet_stream_.answer(*refused, "-NAK");
  if (ask) ask_for_fresh();
  if (status.empty()) changed();
}

void ClusterQueue::changed() const {
  {
    const MutexLock lock(mutex_);
    ++changes_;
    changed_.notify_all();
  }
  if (on_change_) on_change_();
}

Clock::time_point ClusterQueue::first_end() const {
  const MutexLock lock(mutex_);
  return view_.first_end();
}

std::uint64_t ClusterQueue::changes() const {
  const MutexLock lock(mutex_);
  return changes_;
}

/// Lets the broker send the next task that was never leased, as soon as there is one.
void ClusterQueue::ask_for_fresh() {
  {
    const MutexLock lock(mutex_);
    if (is_asking_ || waiters_ == 0) return;
    is_asking_ = true;
  }
  const json request = {{"batch", 1}, {"expires", std::chrono::nanoseconds(kRequestTime).count()}};
  jet_stream_.broker().publish(
      {.subject = "$JS.API.CONSUMER.MSG.NEXT." + site_.stream(Site::Kind::task) + '.' + consumer_,
       .body = request.dump(),
       .reply = inbox_});
}

/// Returns after a change since `seen`, or when a lease runs out.
void ClusterQueue::wait(std::uint64_t seen, const std::stop_token& stop) const {
  const MutexLock lock(mutex_);
  while (changes_ == seen && !stop.stop_requested()) {
    const Clock::time_point end = view_.first_end();
    if (end == Clock::time_point::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_until(*clock_, mutex_, end);
      if (clock_->now() >= end) return;
    }
  }
}

void ClusterQueue::begin_waiting() {
  const MutexLock lock(mutex_);
  ++waiters_;
}

void ClusterQueue::end_waiting() {
  std::deque<DeliveredMessage> left;
  {
    const MutexLock lock(mutex_);
    if (--waiters_ == 0) left.swap(fresh_);
  }
  for (const DeliveredMessage& message : left) jet_stream_.answer(message, "-NAK");
}

/// Looks after what the broker may fail to tell: after a loss of messages, and while workers wait.
void ClusterQueue::keep_up(const std::stop_token& stop) {
  int stalls = 0;
  std::uint64_t deliveries = 0;
  while (!stop.stop_requested()) {
    bool was_behind = false;
    bool is_idle = false;
    {
      const MutexLock lock(mutex_);
      behind_.wait_for(mutex_, stop, kCheckTime,
                       [this]() VCAP_REQUIRES(mutex_) { return is_behind_; });
      was_behind = std::exchange(is_behind_, false);
      is_idle = waiters_ > 0 && deliveries_ == std::exchange(deliveries, deliveries_);
      if (was_behind) is_asking_ = false;
    }
    if (stop.stop_requested()) return;
    try {
      if (was_behind) {
        create_consumer();
        load_view();
      }
      // A stall must be seen twice: another worker may be about to lease the task.
      stalls = is_idle && is_stalled() ? stalls + 1 : 0;
      if (stalls > 1) {
        log(LogLevel::warning, "cluster: the tasks of queue " + quote(name_) +
                                   " were not delivered any more; its consumer is made anew");
        jet_stream_.ask("CONSUMER.DELETE." + site_.stream(Site::Kind::task) + '.' + consumer_,
                        nullptr);
        create_consumer();
        stalls = 0;
        const MutexLock lock(mutex_);
        is_asking_ = false;
      }
      ask_for_fresh();
    } catch (const std::exception& error) {  // also for answers of another form
      log(LogLevel::warning, "cluster: queue " + quote(name_) + ": " + error.what());
      const MutexLock lock(mutex_);
      behind_.wait_for(mutex_, stop, kRetryWait, [] { return false; });
      is_behind_ = is_behind_ || was_behind;
    }
  }
}

/// Whether tasks wait, although the broker delivers none.
bool ClusterQueue::is_stalled() const {
  {
    const MutexLock lock(mutex_);
    if (view_.first_waiting({})) return false;
  }
  return counts().waiting > 0;
}

std::unique_ptr<TaskQueue> make_cluster_queue(std::shared_ptr<Cluster> cluster,
                                              const std::string& name,
                                              TaskQueue::Settings settings) {
  return std::make_unique<ClusterQueue>(std::move(cluster), name, std::move(settings));
}

void remove_cluster_queue(Cluster& cluster, const std::string& name) {
  ClusterQueue::remove(cluster.impl(), name);
}

}  // namespace vcap
