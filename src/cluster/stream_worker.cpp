// SPDX-License-Identifier: Apache-2.0
#include "cluster/stream_worker.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "cluster/host_name.hpp"
#include "cluster/site_reader.hpp"
#include "cluster/stream_status.hpp"
#include "cluster/unused_capsules.hpp"
#include "files/url.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/base/version.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::array kHeard{Site::Kind::worker, Site::Kind::order, Site::Kind::owner,
                            Site::Kind::stream};
/// Heartbeats in the time of a lease.
constexpr int kBeats = 4;
/// How often the site is read without a reason: a notice may have been lost.
constexpr seconds kSiteRereadTime{60};
/// After a failure that may pass.
constexpr std::chrono::milliseconds kRetryPause{300};
/// A stream that has failed here is not tried again for so long.
constexpr seconds kUnfitTime{30};
/// A worker gives a stream away for balance at most so often.
constexpr seconds kMovePause{10};
/// How long an earlier process's records may take before streams are claimed: the next owner of a
/// stream may be this worker, which would shut them out.
constexpr seconds kLeftoversTime{10};
constexpr std::chrono::milliseconds kEndWait{500};
/// Changes come in crowds, and a placement of a large site takes some time. So after one, a worker
/// rests so many times as long, and at most so long.
constexpr int kRest = 4;
constexpr std::chrono::milliseconds kMostRest{500};
/// Claims that wait for their answers together.
constexpr std::size_t kClaimsAtOnce = 32;
/// How often an ending worker looks whether its streams have ended.
constexpr std::chrono::milliseconds kEndStep{50};
/// Owners of a stream that died one after the other: from then on they are suspected to die of it,
/// and after so many it is set aside.
constexpr int kSuspectDeaths = 2;
constexpr int kMostDeaths = 3;

Clock::time_point now() { return std::chrono::steady_clock::now(); }

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Whether a URL leads each machine to itself.
bool is_of_this_machine(const std::string& url) {
  const std::string host = host_of(url);
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

StreamWorker::StreamWorker(std::shared_ptr<Cluster> cluster, Settings settings)
    : cluster_(std::move(cluster)),
      settings_(std::move(settings)),
      session_(Uuid::random().to_string()),
      jet_stream_(*cluster_->impl().broker, without_patience(cluster_->impl().settings)),
      objects_(make_broker_store(jet_stream_, cluster_->impl().site)),
      events_(cluster_, settings_.name),
      outlet_(cluster_,
              {.worker = settings_.name,
               .spool = {.folder = settings_.folder + "/spool", .max_bytes = settings_.spool_bytes},
               .batch_time = settings_.batch_time,
               .on_superseded = [this] { wake(); }}) {}

StreamWorker::~StreamWorker() = default;

void StreamWorker::run(const std::stop_token& stop) {
  outlet_.drain(kLeftoversTime, stop);
  const Site& site = cluster_->impl().site;
  std::vector<std::unique_ptr<BrokerSubscription>> subscriptions;
  subscriptions.reserve(kHeard.size());
  for (const Site::Kind kind : kHeard)
    subscriptions.push_back(cluster_->impl().broker->subscribe(
        site.notes(kind, {}), [this, kind](const BrokerMessage& note) { hear(kind, note); }));
  const Cluster::Impl::Watch watch(cluster_->impl(), [this] {
    const MutexLock lock(mutex_);
    is_stale_ = true;
    changed_.notify_all();
  });
  const std::stop_callback wake_at_stop(stop, [this] { wake(); });
  try {
    take_name(stop);
    keep_working(stop);
  } catch (...) {
    owned_.clear();
    throw;
  }
  end_all();
}

/// Waits until it is certain that no other process works under the name.
void StreamWorker::take_name(const std::stop_token& stop) {
  if (settings_.has_name_alone) return;
  const Site& site = cluster_->impl().site;
  std::optional<std::uint64_t> seen;
  auto end = Clock::time_point::max();
  while (!stop.stop_requested() && now() < end) {
    try {
      const auto last = jet_stream_.last(site.stream(Site::Kind::worker),
                                         site.subject(Site::Kind::worker, {settings_.name}));
      if (!last) return;
      const WorkerMessage other = read_worker_message(last->body);
      if (other.has_ended) return;
      if (seen && *seen != last->sequence)
        throw ClusterError(ErrorCode::closed, "another process works under the name " +
                                                  quote(settings_.name) + " on host " +
                                                  quote(other.host) +
                                                  "; give each worker a name of its own");
      if (!seen) end = now() + other.lease;
      seen = last->sequence;
    } catch (const ClusterError& error) {
      if (stop.stop_requested() || error.code() == ErrorCode::invalid_message) return;
      if (error.code() == ErrorCode::closed) throw;
    }
    const MutexLock lock(mutex_);
    changed_.wait_for(mutex_, kRetryPause, [&] { return stop.stop_requested(); });
  }
}

void StreamWorker::keep_working(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool is_stale = false;
    {
      const MutexLock lock(mutex_);
      is_stale = std::exchange(is_stale_, false) || now() >= read_at_;
    }
    try {
      keep_alive();
      if (is_stale) read_site();
      if (!is_cut_off_) act(stop);
    } catch (const ClusterError& error) {
      if (stop.stop_requested()) return;  // the connection may have been closed for that
      if (error.code() == ErrorCode::closed) throw;
      log(is_cut_off_ ? LogLevel::debug : LogLevel::warning,
          "worker: the broker does not answer, so streams go on without it: " +
              std::string(error.what()));
      is_cut_off_ = true;
      restore_site(*cluster_);
      beat_at_ = now() + kRetryPause;
      const MutexLock lock(mutex_);
      is_stale_ = true;
    }
    const MutexLock lock(mutex_);
    const Clock::time_point end = next_time();
    while (!stop.stop_requested() && !has_changed_ && now() < end && (!is_stale_ || is_cut_off_))
      changed_.wait_until(mutex_, end);
    const Clock::time_point rested = std::min(act_at_, end);
    while (!stop.stop_requested() && now() < rested) changed_.wait_until(mutex_, rested);
    has_changed_ = false;
  }
}

/// Sends the heartbeat if it is time. Called often during what takes long in a large site.
void StreamWorker::keep_alive() {
  const Clock::time_point time = now();
  if (time - std::min(awake_at_, time) > settings_.lease / 2) {
    // This process was suspended, so others may have been alive all the time.
    const MutexLock lock(mutex_);
    view_.restart_leases(time);
  }
  awake_at_ = time;
  if (time >= beat_at_) beat();
}

/// When something is to be done without a notice.
Clock::time_point StreamWorker::next_time() {
  Clock::time_point next = std::min(beat_at_, read_at_);
  if (is_cut_off_) return beat_at_;
  for (const auto& [stream, unfit] : unfit_) next = std::min(next, unfit.until);
  return std::min(next, view_.first_end(now()));
}

WorkerMessage StreamWorker::message(bool has_ended) {
  WorkerMessage message{.session = session_,
                        .has_ended = has_ended,
                        .host = host_name(),
                        .version = std::string(version()),
                        .lease = settings_.lease,
                        .capacity = is_ending_ ? 0 : settings_.capacity,
                        .labels = settings_.labels,
                        .slots = is_ending_ ? 0 : settings_.slots,
                        .view = has_ended ? std::string() : view_url_};
  for (const auto& [stream, unfit] : unfit_) message.unfit.emplace(stream, unfit.reason);
  for (const auto& [stream, own] : owned_)
    if (std::string trouble = own->trouble(); !trouble.empty())
      message.troubles.emplace(stream, bounded_text(trouble));
  if (settings_.statistics) message.statistics = settings_.statistics();
  const RecordOutlet::Counts counts = outlet_.counts();
  std::uint64_t lost = 0;
  for (const auto& [reason, number] : counts.published.lost) lost += number;
  message.statistics["streams"] = owned_.size();
  message.statistics["claims"] = claims_;
  message.statistics["takeovers"] = takeovers_;
  message.statistics["losses"] = losses_;
  message.statistics["records"] = counts.records;
  message.statistics["record_messages"] = counts.messages;
  message.statistics["record_messages_delivered"] = counts.published.delivered;
  message.statistics["record_messages_set_aside"] = counts.published.refused;
  message.statistics["record_messages_waiting"] = counts.published.waiting;
  message.statistics["record_messages_lost"] = lost;
  const MutexLock lock(mutex_);
  message.statistics["invalid_messages"] = refused_notes_;
  return message;
}

void StreamWorker::beat(bool has_ended) {
  const Site& site = cluster_->impl().site;
  const std::string subject = site.subject(Site::Kind::worker, {settings_.name});
  const std::string body = to_message(message(has_ended));
  // The first heartbeat takes the name, whoever has it.
  std::optional<std::uint64_t> expected;
  if (beat_sequence_ > 0) expected = beat_sequence_;
  auto sequence = jet_stream_.store(subject, body, expected);
  if (!sequence) {
    const auto last = jet_stream_.last(site.stream(Site::Kind::worker), subject);
    if (last && read_worker_message(last->body).session != session_)
      throw ClusterError(ErrorCode::closed, "another process works under the name " +
                                                quote(settings_.name) +
                                                "; give each worker a name of its own");
    sequence = jet_stream_.store(subject, body, last ? last->sequence : 0);
    if (!sequence)
      throw ClusterError(ErrorCode::broker_unreachable, "the heartbeat was not accepted");
  }
  beat_sequence_ = *sequence;
  const Clock::time_point time = now();
  beat_at_ = time + settings_.lease / kBeats;
  {
    const MutexLock lock(mutex_);
    view_.apply(Site::Kind::worker, settings_.name, *sequence, body, time);
    // Others could not be heard either.
    if (is_cut_off_) {
      view_.restart_leases(time);
      is_stale_ = true;
    }
  }
  is_cut_off_ = false;
}

void StreamWorker::read_site() {
  const Site& site = cluster_->impl().site;
  auto clock = std::make_shared<ClusterClock>(jet_stream_, site.stream(Site::Kind::worker));
  {
    const MutexLock lock(mutex_);
    clock_ = std::move(clock);
  }
  for (const Site::Kind kind : kHeard) {
    const std::uint64_t sequence = jet_stream_.last_sequence(site.stream(kind));
    {
      const MutexLock lock(mutex_);
      view_.drop_newer(kind, sequence);
    }
    std::set<std::string> ids;
    jet_stream_.each(site.stream(kind), site.all(kind, {}), [&](const StoredMessage& message) {
      keep_alive();
      apply(kind, message.subject, message.sequence, message.body);
      ids.insert(last_token(message.subject));
    });
    const MutexLock lock(mutex_);
    view_.keep(kind, ids, sequence);
  }
  read_at_ = now() + kSiteRereadTime;
}

void StreamWorker::hear(Site::Kind kind, const BrokerMessage& note) {
  apply(kind, note.subject, number_of(note.header("Nats-Sequence")), note.body);
}

void StreamWorker::apply(Site::Kind kind, const std::string& subject, std::uint64_t sequence,
                         const std::string& body) {
  try {
    const std::string id = last_name(subject);
    const MutexLock lock(mutex_);
    if (!view_.apply(kind, id, sequence, body, now())) return;
    has_changed_ = true;
    changed_.notify_all();
  } catch (const ClusterError& error) {
    log(LogLevel::warning, "worker: " + quote(subject) + " is ignored: " + error.what());
    const MutexLock lock(mutex_);
    ++refused_notes_;
  }
}

std::vector<ViewedStreams::Listed> StreamWorker::site_streams() {
  std::vector<ViewedStreams::Listed> result;
  const Clock::time_point time = now();
  const MutexLock lock(mutex_);
  const Placement placement = view_.placement(time);
  for (const auto& [id, stream] : view_.streams()) {
    if (is_cut_off_) {  // nothing is heard of the others, whatever they do
      result.push_back(
          {.id = id, .state = "unknown", .reason = "this worker does not reach the broker"});
      continue;
    }
    const ClusterStreamStatus status = status_of(view_, placement, id, time);
    ViewedStreams::Listed& listed =
        result.emplace_back(ViewedStreams::Listed{.id = id,
                                                  .state = std::string(to_string(status.state)),
                                                  .worker = status.worker,
                                                  .reason = status.reason});
    const auto worker = view_.workers().find(status.worker);
    if (worker == view_.workers().end() || status.worker == settings_.name) continue;
    const WorkerMessage& message = worker->second.message;
    if (message.host == host_name() || !is_of_this_machine(message.view))
      listed.view = message.view;
  }
  return result;
}

void StreamWorker::wake() {
  const MutexLock lock(mutex_);
  has_changed_ = true;
  changed_.notify_all();
}

/// The broker's, since 1970.
nanoseconds StreamWorker::site_time() {
  const MutexLock lock(mutex_);
  return clock_->now().time_since_epoch();
}

void StreamWorker::act(const std::stop_token& stop) {
  if (collect_ended()) beat();
  obey_orders();
  std::vector<Vacancy> vacant;
  std::vector<Vacancy> abandoned;
  std::vector<std::string> removed;
  const Clock::time_point begin = now();
  {
    const MutexLock lock(mutex_);
    view_.restart_lease(settings_.name, now());
    const Placement placement = view_.placement(now());
    end_streams(placement);
    vacant = vacancies(placement);
    abandoned = this->abandoned(placement);
    removed = this->removed();
  }
  const Clock::time_point placed = now();
  act_at_ = placed + std::min<nanoseconds>(kMostRest, kRest * (placed - begin));
  // Streams may be many, and other workers act meanwhile. So the rest waits for a new placement.
  const Clock::time_point end = placed + settings_.lease / kBeats;
  const auto may_go_on = [&] {
    if (stop.stop_requested()) return false;
    if (now() >= end) {
      wake();
      return false;
    }
    keep_alive();
    return true;
  };
  for (const Vacancy& vacancy : abandoned) {
    if (!may_go_on()) return;
    release(vacancy);
  }
  for (std::span<Vacancy> rest = vacant; !rest.empty();) {
    if (!may_go_on()) return;
    const std::size_t count = std::min(kClaimsAtOnce, rest.size());
    claim(rest.first(count));
    rest = rest.subspan(count);
  }
  for (const std::string& stream : removed) {
    if (!may_go_on()) return;
    remove(stream);
  }
}

void StreamWorker::obey_orders() {
  bool drain = false;
  {
    const MutexLock lock(mutex_);
    drain = view_.is_draining(settings_.name);
  }
  if (drain == is_draining_) return;
  is_draining_ = drain;
  log(LogLevel::info, std::string("worker: ") +
                          (drain ? "is drained: it gives its streams away and takes no more work"
                                 : "is no longer drained"));
  if (settings_.on_drain) settings_.on_drain(drain);
}

/// Returns whether the others must know, because a stream failed here.
bool StreamWorker::collect_ended() {
  const Clock::time_point time = now();
  bool is_news =
      std::erase_if(unfit_, [time](const auto& unfit) { return unfit.second.until <= time; }) > 0;
  for (auto entry = owned_.begin(); entry != owned_.end();) {
    const OwnedStream::End end = entry->second->end();
    if (end == OwnedStream::End::none) {
      ++entry;
      continue;
    }
    if (end == OwnedStream::End::lost) ++losses_;
    if (end == OwnedStream::End::failed) {
      const std::string reason = bounded_text(entry->second->reason());
      log(LogLevel::error, "worker: stream " + quote(entry->first) + " has failed: " + reason);
      unfit_[entry->first] = {time + kUnfitTime, reason};
      is_news = true;
    }
    entry = owned_.erase(entry);
  }
  stream_count_ = owned_.size();
  return is_news;
}

void StreamWorker::end_streams(const Placement& placement) {
  for (const auto& [id, own] : owned_) {
    const auto stream = view_.streams().find(id);
    const auto* const owner = view_.owner(id);
    // Two workers may have made the same claim at once, and the broker taken both; the last counts.
    const bool is_claimed_twice =
        owner && owner->message.epoch == own->epoch() && owner->message.session != session_;
    if (is_claimed_twice || (owner && owner->message.epoch > own->epoch())) {
      own->lose();
      continue;
    }
    if (stream == view_.streams().end() || stream->second.message.is_removed) {
      own->stop("it was removed");
      continue;
    }
    if (owner && owner->message.epoch == own->epoch() &&
        owner->message.stream != stream->second.sequence) {
      own->stop("it has changed");
      continue;
    }
    const auto placed = placement.workers.find(id);
    if (placed == placement.workers.end() || placed->second == settings_.name) continue;
    if (!is_draining_ && moved_at_ && now() - *moved_at_ < kMovePause) continue;
    moved_at_ = now();
    own->stop("it moves to worker " + placed->second);
  }
}

std::vector<StreamWorker::Vacancy> StreamWorker::vacancies(const Placement& placement) const {
  std::vector<Vacancy> result;
  for (const auto& [id, worker] : placement.workers) {
    if (worker != settings_.name || owned_.contains(id) || !is_vacant(id)) continue;
    Vacancy& vacancy = result.emplace_back(Vacancy{.id = id, .stream = view_.streams().at(id)});
    if (const auto* const owner = view_.owner(id)) vacancy.owner = *owner;
  }
  return result;
}

/// Also if this worker has claimed it or given it back, and the answer was lost.
bool StreamWorker::is_vacant(const std::string& stream) const {
  const auto* const owner = view_.owner(stream);
  return view_.living_owner(stream, now()).empty() ||
         (owner != nullptr && owner->message.session == session_);
}

/// Streams that this worker has according to the site, but does not run, and that are placed
/// elsewhere.
std::vector<StreamWorker::Vacancy> StreamWorker::abandoned(const Placement& placement) const {
  std::vector<Vacancy> result;
  for (const auto& [id, owner] : view_.owners()) {
    if (owner.message.session != session_ || owned_.contains(id) ||
        owner.message.state != OwnerMessage::State::running)
      continue;
    const auto stream = view_.streams().find(id);
    const auto placed = placement.workers.find(id);
    if (stream != view_.streams().end() &&
        (placed == placement.workers.end() || placed->second != settings_.name))
      result.push_back({id, stream->second, owner});
  }
  return result;
}

/// Streams that are to be forgotten, if this worker is the one that does so.
std::vector<std::string> StreamWorker::removed() const {
  std::vector<std::string> result;
  for (const auto& [name, worker] : view_.workers()) {
    if (!view_.is_alive(name, worker.message.session, now())) continue;
    if (name != settings_.name) return result;
    break;
  }
  for (const auto& [id, stream] : view_.streams())
    if (stream.message.is_removed && is_vacant(id) && !owned_.contains(id)) result.push_back(id);
  return result;
}

/// The stream may have had owners before it was removed.
std::uint64_t StreamWorker::next_epoch(const std::string& stream) {
  const Site& site = cluster_->impl().site;
  const auto last =
      jet_stream_.last(site.stream(Site::Kind::record), site.subject(Site::Kind::record, {stream}));
  try {
    return last ? read_head(last->body).epoch + 1 : 1;
  } catch (const ClusterError&) {  // the stream's own begin says so
    return 1;
  }
}

/// Two owners that died may have died because of the stream. Such streams are claimed one by one,
/// so that if the next one dies, it is known why.
bool StreamWorker::may_claim(const OwnerMessage& owner) {
  if (owner.deaths < kSuspectDeaths || owner.state != OwnerMessage::State::running) return true;
  if (now() < suspect_at_) return false;
  suspect_at_ = now() + settings_.stable_time;
  return true;
}

/// The claim of a vacant stream; `nullopt` if it must wait.
std::optional<StreamWorker::PreparedClaim> StreamWorker::prepare_claim(Vacancy vacancy) {
  OwnerMessage owner{.state = OwnerMessage::State::running,
                     .worker = settings_.name,
                     .session = session_,
                     .epoch = 1,
                     .stream = vacancy.stream.sequence};
  if (vacancy.owner && vacancy.owner->message.epoch > 0) {
    owner.epoch = vacancy.owner->message.epoch + 1;
    owner.load = vacancy.owner->message.load;
    owner.checkpoint = vacancy.owner->message.checkpoint;
  } else {
    owner.epoch = next_epoch(vacancy.id);
  }
  const bool is_takeover = vacancy.owner &&
                           vacancy.owner->message.state == OwnerMessage::State::running &&
                           vacancy.owner->message.session != session_;
  // What has changed since may be cured.
  if (vacancy.owner && vacancy.owner->message.stream == vacancy.stream.sequence)
    owner.deaths = vacancy.owner->message.deaths + (is_takeover ? 1 : 0);
  if (is_takeover && owner.deaths >= kMostDeaths) {
    owner.state = OwnerMessage::State::quarantined;
    owner.deaths = kSuspectDeaths;
    owner.reason = "it is set aside for 5 minutes, because " + std::to_string(kMostDeaths) +
                   " workers in a row have died soon after they had begun it, the last one was " +
                   vacancy.owner->message.worker;
  }
  if (!may_claim(owner)) return std::nullopt;
  return PreparedClaim{std::move(vacancy), std::move(owner), is_takeover};
}

/// Claims streams without waiting for each, and begins those that no other worker was faster to
/// claim.
void StreamWorker::claim(std::span<Vacancy> vacancies) {
  const Site& site = cluster_->impl().site;
  std::vector<PreparedClaim> claims;
  std::vector<JetStream::NewMessage> messages;
  for (Vacancy& vacancy : vacancies) {
    auto prepared = prepare_claim(std::move(vacancy));
    if (!prepared) continue;
    const auto& before = prepared->vacancy.owner;
    messages.push_back({.subject = site.subject(Site::Kind::owner, {prepared->vacancy.id}),
                        .body = to_message(prepared->owner),
                        .last = before ? before->sequence : 0});
    claims.push_back(std::move(*prepared));
  }
  const auto sequences = jet_stream_.store_each(messages);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!sequences[i]) {  // another worker was first, or the view is old
      read_owner(claims[i].vacancy.id);
      continue;
    }
    {
      const MutexLock lock(mutex_);
      view_.apply(Site::Kind::owner, claims[i].vacancy.id, *sequences[i], messages[i].body, now());
    }
    begin(std::move(claims[i]), *sequences[i]);
  }
}

/// Runs a stream that is claimed.
void StreamWorker::begin(PreparedClaim&& claim, std::uint64_t sequence) {
  auto& [vacancy, owner, is_takeover] = claim;
  if (owner.state == OwnerMessage::State::quarantined) {
    log(LogLevel::error, "worker: stream " + quote(vacancy.id) + ": " + owner.reason);
    events_.tell("stream set aside", {{"stream", vacancy.id}, {"reason", owner.reason}});
    return;
  }
  ++claims_;
  if (is_takeover) ++takeovers_;
  events_.tell(is_takeover ? "stream taken over" : "stream claimed",
               {{"stream", vacancy.id},
                {"epoch", owner.epoch},
                {"from", vacancy.owner ? vacancy.owner->message.worker : std::string()}});
  owned_.emplace(vacancy.id, std::make_unique<OwnedStream>(
                                 vacancy.id, std::move(vacancy.stream.message),
                                 OwnedStream::Claim{std::move(owner), sequence},
                                 OwnedStream::Context{.cluster = cluster_,
                                                      .make_body = settings_.make_body,
                                                      .outlet = outlet_,
                                                      .jet_stream = jet_stream_,
                                                      .objects = *objects_,
                                                      .background = background_,
                                                      .events = events_,
                                                      .checkpoint_time = settings_.checkpoint_time,
                                                      .stable_time = settings_.stable_time,
                                                      .end_wait = kEndWait,
                                                      .time = [this] { return site_time(); },
                                                      .on_end = [this] { wake(); }}));
  stream_count_ = owned_.size();
}

void StreamWorker::release(const Vacancy& vacancy) {
  OwnerMessage owner = vacancy.owner->message;
  owner.state = OwnerMessage::State::released;
  if (jet_stream_.store(cluster_->impl().site.subject(Site::Kind::owner, {vacancy.id}),
                        to_message(owner), vacancy.owner->sequence))
    return;
  read_owner(vacancy.id);
}

/// The site knows more than the view, and a notice may be late or lost.
void StreamWorker::read_owner(const std::string& stream) {
  const Site& site = cluster_->impl().site;
  const auto last =
      jet_stream_.last(site.stream(Site::Kind::owner), site.subject(Site::Kind::owner, {stream}));
  if (last)
    apply(Site::Kind::owner, last->subject, last->sequence, last->body);
  else  // it was removed
    read_at_ = std::min(read_at_, now() + kRetryPause);
}

void StreamWorker::remove(const std::string& stream) {
  const Site& site = cluster_->impl().site;
  std::set<std::string> capsules;
  {
    const MutexLock lock(mutex_);
    const auto known = view_.streams().find(stream);
    if (known == view_.streams().end()) return;
    for (const StreamMessage::CapsuleObject& capsule : known->second.message.capsules)
      capsules.insert(capsule.object.name);
  }
  remove_unused_capsules(jet_stream_, site, std::move(capsules));
  objects_->remove("state/" + to_token(stream) + '/');
  jet_stream_.purge(site.stream(Site::Kind::owner), site.subject(Site::Kind::owner, {stream}));
  jet_stream_.purge(site.stream(Site::Kind::stream), site.subject(Site::Kind::stream, {stream}));
  events_.tell("stream removed", {{"stream", stream}});
  const MutexLock lock(mutex_);
  is_stale_ = true;
}

/// Gives all streams away. Until they are, this worker lives, but has no room for others.
void StreamWorker::end_all() {
  is_ending_ = true;
  beat_at_ = Clock::time_point::min();
  for (const auto& [id, own] : owned_) own->stop("its worker has ended");
  while (!owned_.empty()) {
    try {
      if (!is_cut_off_) keep_alive();
    } catch (const ClusterError&) {
      is_cut_off_ = true;
    }
    std::erase_if(owned_,
                  [](const auto& own) { return own.second->end() != OwnedStream::End::none; });
    const MutexLock lock(mutex_);
    if (!owned_.empty())
      changed_.wait_for(mutex_, kEndStep, [&]() VCAP_REQUIRES(mutex_) { return has_changed_; });
    has_changed_ = false;
  }
  try {
    beat(true);
  } catch (const ClusterError& error) {
    log(LogLevel::warning, "worker: its end is not told to the site: " + std::string(error.what()));
  }
}

}  // namespace vcap
