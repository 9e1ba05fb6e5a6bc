// SPDX-License-Identifier: Apache-2.0
#include "cluster/owned_stream.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "cluster/begin_epoch.hpp"
#include "files/strict_json.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// A load is rounded up to this, so that small changes are not told to the site.
constexpr double kLoadStep = 0.05;
constexpr int kCheckpointTries = 5;
/// The states of a stream; a larger checkpoint is refused.
constexpr std::uint64_t kMostCheckpointBytes = std::uint64_t{64} << 20;

double rounded_up(double load) { return std::ceil(load / kLoadStep) * kLoadStep; }

}  // namespace

/// Sends records to the broker, and saves the states from time to time.
class OwnedStream::Host final : public StreamBody::Host {
 public:
  Host(OwnedStream& stream, const StreamBody& body) : stream_(stream), body_(body) {}

  void add(std::string_view record, std::int64_t frame_index, nanoseconds pts) override {
    stream_.context_.outlet.add(*stream_.lane_, record, frame_index, pts);
  }
  void pause(std::int64_t frame_index) override {
    last_index_ = frame_index;
    if (std::chrono::steady_clock::now() < save_at_ || stream_.is_stopping()) return;
    // A state that is in use now is saved after one of the next frames.
    if (!stream_.begin_checkpoint(body_, frame_index) && ++tries_ < kCheckpointTries) return;
    tries_ = 0;
    save_at_ = next_time();
  }
  void finish() override {
    if (last_index_ >= 0) stream_.last_states_ = stream_.states_of(body_, last_index_);
  }

 private:
  /// Differs from stream to stream: up to a checkpoint's time.
  nanoseconds early_part() const {
    constexpr std::size_t kParts = 1'024;
    const auto part = static_cast<std::int64_t>(std::hash<std::string>()(stream_.id_) % kParts);
    return stream_.context_.checkpoint_time * part / static_cast<std::int64_t>(kParts);
  }
  std::chrono::steady_clock::time_point next_time() const {
    return std::chrono::steady_clock::now() + stream_.context_.checkpoint_time;
  }

  OwnedStream& stream_;
  const StreamBody& body_;
  std::int64_t last_index_ = -1;
  /// Many streams may begin at once, so their checkpoints do not wait for the same time.
  std::chrono::steady_clock::time_point save_at_ = next_time() - early_part();
  int tries_ = 0;  ///< for this checkpoint
};

OwnedStream::OwnedStream(std::string id, StreamMessage message, Claim claim, Context context)
    : id_(std::move(id)),
      message_(std::move(message)),
      epoch_{id_, claim.owner.epoch},
      context_(std::move(context)),
      claim_(std::move(claim)) {
  thread_ = std::thread([this] { live(); });
}

OwnedStream::~OwnedStream() {
  stop("the worker ends");
  thread_.join();
}

void OwnedStream::stop(const std::string& why) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  stopping_ = true;
  reason_ = why;
  if (body_) body_->end();
}

void OwnedStream::lose() {
  {
    const MutexLock lock(mutex_);
    lost_ = true;
  }
  stop("another worker has it");
}

std::string OwnedStream::trouble() const {
  const MutexLock lock(mutex_);
  return body_ ? body_->trouble() : std::string();
}

OwnedStream::End OwnedStream::end() const {
  const MutexLock lock(mutex_);
  return end_;
}

std::string OwnedStream::reason() const {
  const MutexLock lock(mutex_);
  return reason_;
}

bool OwnedStream::is_stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

void OwnedStream::live() {
  End end = End::failed;
  std::string reason;
  try {
    run();
    end = is_stopping() ? End::released : End::ended;
    reason = is_stopping() ? this->reason() : "its source has ended";
  } catch (const ClusterError& error) {
    // Without the broker, no worker could do better.
    if (error.code() != ErrorCode::object_missing) end = End::released;
    reason = error.what();
  } catch (...) {
    reason = exception_text(std::current_exception());
  }
  finish(end, reason);
  if (context_.on_end) context_.on_end();
}

void OwnedStream::run() {
  std::map<std::string, SavedState> saved = read_checkpoint();
  std::unique_ptr<StreamBody> made = context_.make_body(id_, message_);
  StreamBody& body = *made;
  {
    const MutexLock lock(mutex_);
    body_ = std::move(made);
    if (stopping_) return;
  }
  EpochBegin begin;
  for (const auto& [capsule, continues] : body.states())
    (continues && saved.contains(capsule) ? begin.restored : begin.renewed).push_back(capsule);
  const auto sequence =
      begin_epoch(context_.cluster->impl().jet_stream, context_.cluster->impl().site,
                  {.epoch = epoch_, .worker = claim_.owner.worker, .time = context_.time}, begin);
  if (!sequence) {
    lose();
    return;
  }
  lane_ = context_.outlet.begin(epoch_, *sequence);
  context_.events.tell("stream begun", {{"stream", id_},
                                        {"epoch", epoch_.epoch},
                                        {"frame_index", begin.frame_index},
                                        {"restored", begin.restored},
                                        {"renewed", begin.renewed}});
  begun_ = std::chrono::steady_clock::now();
  has_deaths_ = claim_.owner.deaths > 0;
  Host host(*this, body);
  body.run(begin, std::move(saved), host);
}

/// States that cannot be read begin anew.
std::map<std::string, SavedState> OwnedStream::read_checkpoint() {
  std::map<std::string, SavedState> saved;
  if (!claim_.owner.checkpoint) return saved;
  const ObjectReference& object = claim_.owner.checkpoint->object;
  try {
    if (object.size > kMostCheckpointBytes)
      throw ClusterError(ErrorCode::invalid_message,
                         "it has " + std::to_string(object.size) + " bytes");
    const nlohmann::json states = parse_strictly(context_.objects.get_text(object));
    for (const auto& [capsule, state] : states.items())
      saved[capsule] = {.state = state.at("state"), .version = state.at("version")};
  } catch (const std::exception& error) {
    log(LogLevel::warning, "cluster: stream " + quote(id_) +
                               ": the states of its capsules cannot be read, so they begin anew: " +
                               bounded_text(error.what()));
    saved.clear();
  }
  return saved;
}

/// Takes the states now, and stores them in the background: a broker that is away must not hold up
/// the frames. Returns false if a state was in use.
bool OwnedStream::begin_checkpoint(const StreamBody& body, std::int64_t frame_index) {
  {
    const MutexLock lock(mutex_);
    if (is_saving_) return true;  // the broker is slow; the next one may be faster
  }
  std::optional<States> states = states_of(body, frame_index);
  if (!states) return false;
  const bool has_news =
      !states->states.empty() || states->load != told_load_ || (states->is_stable && has_deaths_);
  if (!has_news) return true;
  if (states->is_stable) has_deaths_ = false;
  told_load_ = states->load;
  {
    const MutexLock lock(mutex_);
    is_saving_ = true;
  }
  context_.background.post([this, states = std::move(*states)] {
    save_checkpoint(states);
    const MutexLock lock(mutex_);
    is_saving_ = false;
    changed_.notify_all();
  });
  return true;
}

/// `nullopt` if a state is in use.
std::optional<OwnedStream::States> OwnedStream::states_of(const StreamBody& body,
                                                          std::int64_t frame_index) const {
  States result{.frame_index = frame_index,
                .load = body.load(),
                .is_stable = std::chrono::steady_clock::now() - begun_ >= context_.stable_time};
  if (result.load) result.load = rounded_up(*result.load);
  try {
    auto states = body.save();
    if (!states) return std::nullopt;
    result.states = std::move(*states);
  } catch (const std::exception& error) {  // a capsule's own
    log(LogLevel::warning,
        "cluster: stream " + quote(id_) + ": a state is not saved: " + bounded_text(error.what()));
  }
  return result;
}

void OwnedStream::await_checkpoint() {
  const MutexLock lock(mutex_);
  while (is_saving_) changed_.wait(mutex_);
}

/// Keeps the old checkpoint if there are no states, or they cannot be stored.
void OwnedStream::save_checkpoint(const States& states) noexcept {
  try {
    const auto old = claim_.owner.checkpoint;
    auto checkpoint = old;
    if (!states.states.empty()) checkpoint = store_states(states);
    const bool is_updated = update([&](OwnerMessage& owner) {
      owner.checkpoint = checkpoint;
      if (states.load) owner.load = states.load;
      if (states.is_stable) owner.deaths = 0;
    });
    if (is_updated && old && old->object.name != checkpoint->object.name)
      context_.objects.erase(old->object.name);
  } catch (const std::exception& error) {
    log(LogLevel::warning,
        "cluster: stream " + quote(id_) +
            ": the states of its capsules cannot be saved: " + bounded_text(error.what()));
  }
}

OwnerMessage::Checkpoint OwnedStream::store_states(const States& states) {
  nlohmann::json content = nlohmann::json::object();
  for (const auto& [capsule, saved] : states.states)
    content[capsule] = {{"state", *saved.state}, {"version", saved.version}};
  const std::string text = content.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string name = "state/" + to_token(id_) + '/' + std::to_string(epoch_.epoch) + '-' +
                           std::to_string(states.frame_index);
  return {context_.objects.put_bytes(name, std::as_bytes(std::span(text))), states.frame_index};
}

/// Changes the owner's record. Returns false, and ends the stream, if another worker has it.
bool OwnedStream::update(const std::function<void(OwnerMessage&)>& change) {
  Cluster::Impl& impl = context_.cluster->impl();
  JetStream& jet_stream = context_.jet_stream;
  const std::string subject = impl.site.subject(Site::Kind::owner, {id_});
  change(claim_.owner);
  for (;;) {
    if (const auto sequence =
            jet_stream.store(subject, to_message(claim_.owner), claim_.sequence)) {
      claim_.sequence = *sequence;
      return true;
    }
    // It may be this owner's own message, whose answer was lost.
    const auto last = jet_stream.last(impl.site.stream(Site::Kind::owner), subject);
    const bool is_own = [&] {
      if (!last) return false;
      const OwnerMessage owner = read_owner_message(last->body);
      return owner.epoch == claim_.owner.epoch && owner.session == claim_.owner.session;
    }();
    if (!is_own || last->sequence == claim_.sequence) break;
    claim_.sequence = last->sequence;
  }
  lose();
  return false;
}

void OwnedStream::finish(End end, const std::string& reason) {
  await_checkpoint();
  bool is_lost = false;
  {
    const MutexLock lock(mutex_);
    is_lost = lost_;
  }
  if (last_states_ && end == End::released && !is_lost) save_checkpoint(*last_states_);
  try {
    const nanoseconds wait = context_.cluster->is_connected() ? context_.end_wait : nanoseconds(0);
    const bool is_settled = !lane_ || context_.outlet.end(*lane_, wait);
    if (lane_ && context_.outlet.is_superseded(*lane_)) is_lost = true;
    if (!is_settled)
      log(LogLevel::warning, "cluster: stream " + quote(id_) +
                                 ": the broker has not taken its last records, which stay in the "
                                 "spool of this worker");
    if (!is_lost)
      is_lost = !update([&](OwnerMessage& owner) {
        owner.state =
            end == End::ended ? OwnerMessage::State::ended : OwnerMessage::State::released;
        owner.reason = reason;
      });
  } catch (const std::exception& error) {
    log(LogLevel::warning,
        "cluster: stream " + quote(id_) + " is not given back: " + bounded_text(error.what()));
  }
  context_.events.tell(is_lost ? "stream lost"
                               : "stream " + std::string(end == End::ended    ? "ended"
                                                         : end == End::failed ? "failed"
                                                                              : "released"),
                       {{"stream", id_}, {"epoch", epoch_.epoch}, {"reason", reason}});
  std::unique_ptr<StreamBody> body;  // destroyed without the mutex
  const MutexLock lock(mutex_);
  body = std::move(body_);
  end_ = is_lost ? End::lost : end;
  reason_ = reason;
}

}  // namespace vcap
