// SPDX-License-Identifier: Apache-2.0
#include "cluster/task_records.hpp"

#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/message_json.hpp"
#include "jobs/task_checks.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using State = LeaseRecord::State;

/// How long a task is in the state `giving_up`, if the process that gives it up dies meanwhile.
constexpr std::chrono::seconds kGivingUpTime{10};

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

int checked(int max_attempts) {
  check_max_attempts(max_attempts);
  return max_attempts;
}

}  // namespace

TaskRecords::TaskRecords(JetStream& jet_stream, const Site& site, std::string queue,
                         int max_attempts, std::shared_ptr<Clock> clock, Callbacks callbacks)
    : jet_stream_(jet_stream),
      site_(site),
      queue_(std::move(queue)),
      max_attempts_(checked(max_attempts)),
      clock_(std::move(clock)),
      callbacks_(std::move(callbacks)) {
  Broker& broker = jet_stream_.broker();
  subscriptions_.push_back(
      broker.subscribe(site_.notes(Site::Kind::lease, {queue_}),
                       [this](const BrokerMessage& message) { note_lease(message); }));
  subscriptions_.push_back(
      broker.subscribe(site_.notes(Site::Kind::settled, {queue_}),
                       [this](const BrokerMessage& message) { note_settled(message); }));
  load_view();
}

void TaskRecords::remove(Cluster::Impl& cluster, const std::string& queue) {
  for (const Site::Kind kind : {Site::Kind::lease, Site::Kind::settled})
    cluster.jet_stream.purge(cluster.site.stream(kind), cluster.site.all(kind, {queue}));
}

std::string TaskRecords::lease_subject(const std::string& id) const {
  return site_.subject(Site::Kind::lease, {queue_, id});
}
std::string TaskRecords::settled_subject(const std::string& id) const {
  return site_.subject(Site::Kind::settled, {queue_, id});
}

std::optional<LeaseRecord> TaskRecords::claim(const std::string& task,
                                              std::optional<std::uint64_t> place,
                                              Clock::duration time) {
  if (place) {
    const LeaseRecord first{.state = State::leased,
                            .number = new_number(),
                            .until = end_of_lease(clock_->now(), time),
                            .place = *place};
    if (replace(task, 0, first))
      return is_settled_already(task) ? std::nullopt : std::optional(first);
  }
  const Known known = read(task);
  if (known.record.state != State::waiting) {
    end_if_run_out(task);
    return std::nullopt;
  }
  LeaseRecord next = known.record;
  next.state = State::leased;
  next.number = new_number();
  next.until = end_of_lease(clock_->now(), time);
  if (known.sequence == 0) next.place = place.value_or(0);
  if (!replace(task, known.sequence, next)) {
    read(task);
    return std::nullopt;
  }
  return is_settled_already(task) ? std::nullopt : std::optional(next);
}

/// Also tells the view.
TaskRecords::Known TaskRecords::read(const std::string& task) {
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
  if (has_changed) callbacks_.on_change();
  return known;
}

std::optional<SettledMessage> TaskRecords::settled(const std::string& task) {
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

bool TaskRecords::exists(const std::string& task) {
  return jet_stream_
      .last(site_.stream(Site::Kind::task), site_.subject(Site::Kind::task, {queue_, task}))
      .has_value();
}

bool TaskRecords::replace(const std::string& task, std::uint64_t sequence,
                          const LeaseRecord& record) {
  const auto stored = jet_stream_.store(lease_subject(task), to_message(record), sequence);
  if (!stored) return false;
  bool has_changed = false;
  {
    const MutexLock lock(mutex_);
    has_changed = view_.set(task, *stored, record);
  }
  if (has_changed) callbacks_.on_change();
  return true;
}

/// Lets the record say what became of a settled task; without failed attempts, there is none any
/// more. Returns whether the task is given up.
bool TaskRecords::tidy(const std::string& task) {
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
      if (erase(task, known.sequence)) break;
      continue;
    }
    record.state = is_given_up ? State::given_up : State::done;
    replace(task, known.sequence, record);
  }
  callbacks_.on_change();
  return is_given_up;
}

void TaskRecords::forget(const std::string& task, std::uint64_t number) {
  const Known known = read(task);
  if (known.sequence == 0 || known.record.number != number) return;
  erase(task, known.sequence);
  callbacks_.on_change();
}

bool TaskRecords::erase(const std::string& task, std::uint64_t sequence) {
  if (!jet_stream_.erase(site_.stream(Site::Kind::lease), sequence)) return false;
  const MutexLock lock(mutex_);
  view_.remove(task);
  return true;
}

/// For a record that was just stored: the task may have been settled before that.
bool TaskRecords::is_settled_already(const std::string& task) {
  if (!settled(task)) return false;
  tidy(task);
  return true;
}

/// The lease, if it is still valid. Throws InvalidArgument for a task that does not exist.
std::optional<TaskRecords::Known> TaskRecords::held(const TaskQueue::Lease& lease) {
  end_run_out();
  const Known known = read(lease.task);
  if (known.sequence == 0 && !exists(lease.task)) refuse_unknown_task(lease.task);
  if (known.sequence == 0 || known.record.number != lease.number ||
      !known.record.is_leased(clock_->now()))
    return std::nullopt;
  return known;
}

bool TaskRecords::renew(const TaskQueue::Lease& lease, Clock::duration time) {
  const auto known = held(lease);
  if (!known) return false;
  LeaseRecord next = known->record;
  next.until = end_of_lease(clock_->now(), time);
  return replace(lease.task, known->sequence, next) && !is_settled_already(lease.task);
}

bool TaskRecords::complete(const TaskQueue::Lease& lease, json result) {
  end_run_out();
  std::optional<std::uint64_t> own;
  {
    const MutexLock lock(mutex_);
    own = view_.first_attempt(lease.task, lease.number);
  }
  if (!own) {
    const Known known = read(lease.task);
    if (known.sequence == 0 && !exists(lease.task)) refuse_unknown_task(lease.task);
    if (known.record.state == State::giving_up) give_up(lease.task, known.record);
  }
  const std::string message = to_message(SettledMessage{true, std::move(result), {}});
  const bool is_first = jet_stream_.store(settled_subject(lease.task), message, 0).has_value();
  // Most often there is nothing to say about a task that is done, except that it is.
  if (is_first && own && erase(lease.task, *own))
    callbacks_.on_change();
  else if (is_first || own)
    tidy(lease.task);
  return is_first;
}

bool TaskRecords::fail(const TaskQueue::Lease& lease, const std::string& reason) {
  const auto known = held(lease);
  return known && attempt_failed(lease.task, *known, reason);
}

bool TaskRecords::release(const TaskQueue::Lease& lease) {
  const auto known = held(lease);
  if (!known) return false;
  LeaseRecord next = known->record;
  next.state = State::waiting;
  return replace(lease.task, known->sequence, next);
}

/// False if another process was faster.
bool TaskRecords::attempt_failed(const std::string& task, const Known& known,
                                 const std::string& reason) {
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
bool TaskRecords::give_up(const std::string& task, const LeaseRecord& record) {
  const std::string message = to_message(SettledMessage{false, {}, record.reasons});
  jet_stream_.store(settled_subject(task), message, 0);
  return tidy(task);
}

/// Ends the leases that have run out, as far as they are known.
void TaskRecords::end_run_out() {
  std::vector<std::string> tasks;
  {
    const MutexLock lock(mutex_);
    const Clock::time_point now = clock_->now();
    if (view_.first_end() <= now) tasks = view_.run_out(now);
  }
  for (const std::string& task : tasks) end_if_run_out(task);
}

void TaskRecords::end_if_run_out(const std::string& task) {
  const Known known = read(task);
  if (known.sequence == 0) return;
  if (settled(task)) {
    tidy(task);
    return;
  }
  if (known.record.state == State::giving_up && clock_->now() >= known.record.until)
    give_up(task, known.record);
  else if (known.record.has_run_out(clock_->now()) && attempt_failed(task, known, kLeaseRanOut))
    callbacks_.on_run_out(task);
}

void TaskRecords::refuse_result(const std::string& task, std::uint64_t sequence,
                                const std::string& reason) {
  const std::string stream = site_.stream(Site::Kind::settled);
  const auto message = jet_stream_.last(stream, settled_subject(task));
  if (!message || message->sequence != sequence) return;  // there is another one since
  jet_stream_.erase(stream, sequence);
  attempt_failed(task, read(task), reason);
}

void TaskRecords::revive() {
  for (const TaskQueue::Failure& failure : failures()) {
    if (!failure.given_up) continue;
    const std::string stream = site_.stream(Site::Kind::settled);
    const auto message = jet_stream_.last(stream, settled_subject(failure.task));
    if (message) jet_stream_.erase(stream, message->sequence);
    const std::uint64_t place = jet_stream_.last_sequence(site_.stream(Site::Kind::task));
    replace(failure.task, read(failure.task).sequence, {.state = State::waiting, .place = place});
  }
}

TaskQueue::Counts TaskRecords::counts_of(Cluster::Impl& cluster, const std::string& queue) {
  using Kind = Site::Kind;
  const Site& site = cluster.site;
  JetStream& jet_stream = cluster.jet_stream;
  TaskQueue::Counts counts;
  // In this order: what is settled has been put before.
  const std::uint64_t settled =
      jet_stream.count(site.stream(Kind::settled), site.all(Kind::settled, {queue}));
  const std::uint64_t put =
      jet_stream.count(site.stream(Kind::task), site.all(Kind::task, {queue}));
  jet_stream.each(site.stream(Kind::lease), site.all(Kind::lease, {queue}),
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

std::optional<json> TaskRecords::result(const std::string& id) {
  end_run_out();
  std::optional<SettledMessage> settled = this->settled(id);
  if (!settled || !settled->is_done) return std::nullopt;
  return std::move(settled->result);
}

std::vector<TaskQueue::Failure> TaskRecords::failures() {
  end_run_out();
  std::vector<TaskQueue::Failure> failures;
  for (const StoredMessage& message :
       jet_stream_.all(site_.stream(Site::Kind::lease), site_.all(Site::Kind::lease, {queue_}))) {
    auto known = valid_lease(message);
    if (known && !known->second.reasons.empty())
      failures.push_back({.task = std::move(known->first),
                          .reasons = std::move(known->second.reasons),
                          .given_up = known->second.state == State::given_up});
  }
  std::ranges::sort(failures, {}, &TaskQueue::Failure::task);
  return failures;
}

void TaskRecords::load_view() {
  const std::vector<StoredMessage> messages =
      jet_stream_.all(site_.stream(Site::Kind::lease), site_.all(Site::Kind::lease, {queue_}));
  {
    const MutexLock lock(mutex_);
    view_.clear();
    for (const StoredMessage& message : messages)
      if (const auto known = valid_lease(message))
        view_.set(known->first, message.sequence, known->second);
  }
  callbacks_.on_change();
}

void TaskRecords::note_lease(const BrokerMessage& message) {
  bool has_changed = false;
  try {
    const LeaseRecord record = read_lease(message.body);
    const MutexLock lock(mutex_);
    has_changed = view_.set(last_token(message.subject), sequence_of(message), record);
  } catch (const ClusterError& error) {
    log(LogLevel::warning, "cluster: a lease is ignored: " + std::string(error.what()));
  }
  if (has_changed) callbacks_.on_change();
}

void TaskRecords::note_settled(const BrokerMessage& message) {
  {
    const MutexLock lock(mutex_);
    view_.remove(last_token(message.subject));
  }
  callbacks_.on_change();
}

Clock::time_point TaskRecords::first_end() const {
  const MutexLock lock(mutex_);
  return view_.first_end();
}

std::optional<LeaseView::Waiting> TaskRecords::first_waiting(
    const std::map<std::string, Clock::time_point>& avoided) const {
  const MutexLock lock(mutex_);
  return view_.first_waiting(avoided);
}

}  // namespace vcap
