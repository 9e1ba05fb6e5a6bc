// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_queue.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/cluster_clock.hpp"
#include "cluster/host_name.hpp"
#include "cluster/message_json.hpp"
#include "cluster/site_events.hpp"
#include "jobs/task_checks.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr const char* kTask = "vcap.task/1";
/// How often a worker that waits checks that the consumer still delivers.
constexpr seconds kCheckTime{10};
constexpr seconds kRetryWait{1};

json task_message(json payload) { return {{"schema", kTask}, {"payload", std::move(payload)}}; }

}  // namespace

ClusterQueue::ClusterQueue(std::shared_ptr<Cluster> cluster, const std::string& name,
                           Settings settings, std::function<void()> on_change, std::stop_token stop)
    : cluster_(std::move(cluster)),
      stopping_(std::move(stop), [this] { ending_.request_stop(); }),
      jet_stream_(*cluster_->impl().broker, cluster_->impl().settings, ending_.get_token()),
      site_(cluster_->impl().site),
      name_(name),
      clock_(settings.clock
                 ? std::move(settings.clock)
                 : std::make_shared<ClusterClock>(jet_stream_, site_.stream(Site::Kind::lease))),
      on_change_(std::move(on_change)),
      records_(std::make_unique<TaskRecords>(
          jet_stream_, site_, name_, settings.max_attempts, clock_,
          TaskRecords::Callbacks{.on_change = [this] { changed(); },
                                 .on_run_out =
                                     [this](const std::string& task) {
                                       tell_site(*cluster_, host_name(), "slice lease ran out",
                                                 {{"job", name_}, {"slice", task}});
                                     }})),
      consumer_(std::make_unique<TaskConsumer>(
          jet_stream_, site_, name_,
          TaskConsumer::Callbacks{.on_delivery = [this] { changed(); },
                                  .on_refusal = [this] { fall_behind(kRetryWait); }})),
      watch_(std::in_place, cluster_->impl(), [this] { fall_behind(Clock::duration(0)); }),
      keeper_([this](const std::stop_token& ending) { keep_up(ending); }) {}

ClusterQueue::~ClusterQueue() { ending_.request_stop(); }

void ClusterQueue::remove(Cluster::Impl& cluster, const std::string& name) {
  TaskConsumer::remove(cluster.jet_stream, cluster.site, name);
  cluster.jet_stream.purge(cluster.site.stream(Site::Kind::task),
                           cluster.site.all(Site::Kind::task, {name}));
  TaskRecords::remove(cluster, name);
}

json ClusterQueue::payload_of(const std::string& message) {
  json parsed = parse_message(message, kTask);
  if (!parsed.contains("payload")) refuse_message(kTask, "it has no payload");
  return std::move(parsed["payload"]);
}

std::string ClusterQueue::task_subject(const std::string& id) const {
  return site_.subject(Site::Kind::task, {name_, id});
}

bool ClusterQueue::put(std::string id, json payload) {
  check_task_id(id);
  check_task_payload(id, payload);
  records_->end_run_out();
  return jet_stream_.store(task_subject(id), task_message(std::move(payload)).dump(), 0)
      .has_value();
}

std::size_t ClusterQueue::put_all(std::vector<NewTask> tasks) {
  std::vector<JetStream::NewMessage> messages;
  for (NewTask& task : tasks) {
    check_task_id(task.id);
    check_task_payload(task.id, task.payload);
    messages.push_back({.subject = task_subject(task.id),
                        .body = task_message(std::move(*task.payload)).dump(),
                        .last = 0});
  }
  const auto stored = jet_stream_.store_each(messages);
  return static_cast<std::size_t>(std::ranges::count_if(
      stored, [](const std::optional<std::uint64_t>& sequence) { return sequence.has_value(); }));
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
  if (!lease) queue_.consumer_->ask();
  return lease;
}

/// `may_ask`: whether to ask the broker for a task that was never leased. Otherwise only those
/// count that it has sent already.
std::optional<TaskQueue::Lease> ClusterQueue::take(Clock::duration time, bool may_ask) {
  records_->end_run_out();
  for (;;) {
    const auto fresh = may_ask ? consumer_->next() : consumer_->next_delivered();
    const auto waiting = records_->first_waiting(avoided());
    if (waiting && (!fresh || waiting->place < fresh->sequence)) {
      if (fresh) consumer_->give_back(*fresh);
      if (auto lease = claim(waiting->task, nullptr, time)) return lease;
    } else if (fresh) {
      auto lease = claim(last_token(fresh->subject), &*fresh, time);
      consumer_->accept(*fresh);  // now the record says what becomes of it
      if (lease) return lease;
    } else {
      return std::nullopt;
    }
  }
}

/// `nullopt` if the task cannot be leased now.
std::optional<TaskQueue::Lease> ClusterQueue::claim(const std::string& task,
                                                    const DeliveredMessage* fresh,
                                                    Clock::duration time) {
  const auto record =
      records_->claim(task, fresh != nullptr ? std::optional(fresh->sequence) : std::nullopt, time);
  if (!record) return std::nullopt;
  std::string body = fresh != nullptr ? fresh->body : std::string();
  if (fresh == nullptr) {
    auto message = jet_stream_.last(site_.stream(Site::Kind::task), task_subject(task));
    if (!message) {
      log(LogLevel::warning, "cluster: the broker has lost task " + quote(task) + " of queue " +
                                 quote(name_) + "; whoever put it may put it again");
      records_->forget(task, record->number);
      return std::nullopt;
    }
    body = std::move(message->body);
  }
  return Lease{.task = task,
               .payload = payload_of(body),
               .number = record->number,
               .attempt = static_cast<int>(record->reasons.size()) + 1};
}

bool ClusterQueue::renew(const Lease& lease, Clock::duration time) {
  check_lease_time(time);
  return records_->renew(lease, time);
}

bool ClusterQueue::complete(const Lease& lease, json result) {
  check_task_result(lease.task, result);
  return records_->complete(lease, std::move(result));
}

bool ClusterQueue::fail(const Lease& lease, std::string reason) {
  return records_->fail(lease, reason);
}

bool ClusterQueue::release(const Lease& lease) { return records_->release(lease); }

void ClusterQueue::avoid(const std::string& task, Clock::time_point until) {
  const MutexLock lock(mutex_);
  avoided_[task] = until;
}

std::map<std::string, Clock::time_point> ClusterQueue::avoided() {
  const MutexLock lock(mutex_);
  std::erase_if(avoided_, [now = clock_->now()](const auto& entry) { return entry.second <= now; });
  return avoided_;
}

TaskQueue::Counts ClusterQueue::counts() const {
  records_->end_run_out();
  return TaskRecords::counts_of(cluster_->impl(), name_);
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
  return records_->result(id);
}

std::vector<TaskQueue::Failure> ClusterQueue::failures() const { return records_->failures(); }

void ClusterQueue::changed() const {
  {
    const MutexLock lock(mutex_);
    ++changes_;
    changed_.notify_all();
  }
  if (on_change_) on_change_();
}

std::uint64_t ClusterQueue::changes() const {
  const MutexLock lock(mutex_);
  return changes_;
}

/// Returns after a change since `seen`, or when a lease runs out.
void ClusterQueue::wait(std::uint64_t seen, const std::stop_token& stop) const {
  const MutexLock lock(mutex_);
  while (changes_ == seen && !stop.stop_requested()) {
    const Clock::time_point end = records_->first_end();
    if (end == Clock::time_point::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_until(*clock_, mutex_, end);
      if (clock_->now() >= end) return;
    }
  }
}

/// Messages of the broker may have been lost. Before it catches up, it waits for `time`: a consumer
/// may be gone because its job has ended, and then this queue ends, too.
void ClusterQueue::fall_behind(Clock::duration time) {
  const MutexLock lock(mutex_);
  is_behind_ = true;
  rest_ = time;
  behind_.notify_all();
}

/// Looks after what the broker may fail to tell: after a loss of messages, and while workers wait.
void ClusterQueue::keep_up(const std::stop_token& stop) {
  int stalls = 0;
  while (!stop.stop_requested()) {
    bool was_behind = false;
    {
      const MutexLock lock(mutex_);
      behind_.wait_for(mutex_, stop, kCheckTime,
                       [this]() VCAP_REQUIRES(mutex_) { return is_behind_; });
      if (is_behind_) behind_.wait_for(mutex_, stop, rest_, [] { return false; });
      was_behind = std::exchange(is_behind_, false);
    }
    if (stop.stop_requested()) return;
    const bool waits_in_vain = consumer_->waits_in_vain();
    if (was_behind) consumer_->forget_request();
    try {
      if (was_behind) {
        consumer_->create();
        records_->load_view();
      }
      // A stall must be seen twice: another worker may be about to lease the task.
      stalls = waits_in_vain && is_stalled() ? stalls + 1 : 0;
      if (stalls > 1) {
        log(LogLevel::warning, "cluster: the tasks of queue " + quote(name_) +
                                   " were not delivered any more; its consumer is made anew");
        consumer_->create_anew();
        stalls = 0;
      }
      consumer_->ask();
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
  return !records_->first_waiting({}) && counts().waiting > 0;
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
