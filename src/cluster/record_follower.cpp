// SPDX-License-Identifier: Apache-2.0
#include "cluster/record_follower.hpp"

#include <algorithm>
#include <optional>
#include <thread>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// How often, and how long apart, the leader is asked for a message that came from a server: one
/// that has just lost its lead answers with what it had.
constexpr int kAsks = 10;
constexpr std::chrono::milliseconds kAskPause{100};
/// By how much the clocks of servers may differ, whose times of messages are compared.
constexpr std::chrono::seconds kMostSkew{10};
/// Quiet streams that are asked for at a time.
constexpr int kMostQuiet = 100;
/// How often a quiet stream is asked for, because one answer may be old.
constexpr int kChecks = 2;

}  // namespace

RecordFollower::RecordFollower(JetStream& jet_stream, const Site& site, std::uint64_t after)
    : jet_stream_(jet_stream), site_(site), after_(after), delivered_(after) {}

void RecordFollower::take(const StoredMessage& stored, Time now) {
  delivered_ = stored.sequence;
  std::optional<Message> message;
  try {
    message.emplace(read(stored));
  } catch (const ClusterError& error) {
    ++refused_;
    log(LogLevel::warning,
        "cluster: records on " + quote(stored.subject) + " are left out: " + error.what());
    return;
  }
  follow(std::move(*message), now);
}

void RecordFollower::look_at_quiet_streams(Time now) {
  int looks = 0;
  for (auto& [stream, place] : places_) {
    if (place.checks == kChecks || now < place.heard + (place.checks + 1) * kQuietTime) continue;
    if (++looks > kMostQuiet) return;
    const auto last = jet_stream_.last(site_.stream(Site::Kind::record), place.subject);
    if (last && last->time != place.stored.time) {
      try {
        follow(read(*last), now);
      } catch (const ClusterError& error) {  // it is counted if it comes
        if (error.code() != ErrorCode::invalid_message) throw;
      }
    }
    // If something was missing, more may be.
    if (place.heard != now) ++place.checks;
  }
}

RecordFollower::Message RecordFollower::read(const StoredMessage& message) {
  return {.stored = message,
          .stream = last_token(message.subject),
          .head = read_head(message.body),
          .records = read_records(message.body)};
}

/// Null for a stream that it has not seen before.
const RecordFollower::Place* RecordFollower::place_of(const Message& message) const {
  const auto found = places_.find(message.stream);
  return found == places_.end() ? nullptr : &found->second;
}

bool RecordFollower::is_known(const Message& message) const {
  if (message.has_id()) {
    // Workers store each message once; other ways to the site may not.
    const auto seen = seen_.find({message.stream, message.head.spool});
    return seen != seen_.end() && message.head.sequence <= seen->second;
  }
  // One that is new, but has an earlier time because of another server's clock, is not needed: the
  // messages behind it show that its epoch has begun.
  const Place* const place = place_of(message);
  return place && message.stored.time <= place->stored.time;
}

/// Whether a later owner has begun. A stream that was forgotten begins anew.
bool RecordFollower::is_over(const Message& message) const {
  const Place* const place = place_of(message);
  if (!place || message.head.epoch >= place->head.epoch) return false;
  return message.has_id() || message.head.epoch > 1 || message.stored.time <= place->stored.time;
}

/// Whether nothing is missing between the place of its stream and the message.
bool RecordFollower::is_next(const Message& message) const {
  const Place* const place = place_of(message);
  if (!place) return !doubts_first_;
  const RecordBatchHead& last = place->head;
  const RecordBatchHead& head = message.head;
  // An owner begins where the one before ended.
  if (!message.has_id())
    return head.epoch <= last.epoch + 1 && head.next_frame_index == last.next_frame_index;
  if (head.epoch != last.epoch || head.worker != last.worker) return false;
  return head.number == 0 || head.number == last.number + 1;
}

/// Takes a message in the order of its stream.
void RecordFollower::follow(Message message, Time now) {
  if (is_known(message)) return;
  if (!is_next(message)) {
    fill_gap(message, now);
    if (is_known(message)) return;
  }
  if (is_over(message))
    leave_out(message);
  else
    add(std::move(message), now);
}

/// Takes what the leader has between the place of the stream and the message.
void RecordFollower::fill_gap(const Message& message, Time now) {
  for (int asks = 1; !try_to_fill_gap(message, now) && asks < kAsks; ++asks)
    std::this_thread::sleep_for(kAskPause);
}

/// Returns false if the leader has neither the message nor a later one.
bool RecordFollower::try_to_fill_gap(const Message& message, Time now) {
  std::optional<std::uint64_t> from = begin_of_gap(message);
  if (!from) return true;
  while (const auto stored = next(message, *from)) {
    if (stored->time == message.stored.time || stored->time > message.stored.time + kMostSkew)
      return true;
    from = stored->sequence + 1;
    // What was there before the reader began is not wanted.
    if (const Place* const place = place_of(message); place && stored->time < place->since)
      continue;
    try {
      Message missing = read(*stored);
      // The message itself was taken back, or is too old to be kept.
      const RecordBatchHead& head = message.head;
      if ((missing.head.epoch > head.epoch && stored->time > message.stored.time) ||
          (message.has_id() && missing.head.spool == head.spool &&
           missing.head.sequence > head.sequence))
        return true;
      if (is_known(missing)) continue;
      if (is_over(missing))
        leave_out(missing);
      else
        add(std::move(missing), now);
    } catch (const ClusterError&) {  // not valid; it is counted if it comes
    }
  }
  return false;
}

/// The sequence, as the leader has it, behind the place of the message's stream; absent if there is
/// nothing between the two.
std::optional<std::uint64_t> RecordFollower::begin_of_gap(const Message& message) {
  const auto before = [](std::uint64_t sequence, std::uint64_t step) {
    return sequence > step ? sequence - step : 1;
  };
  const Place* const place = place_of(message);
  if (!place)
    return after_ < message.stored.sequence ? after_ + 1
                                            : before(message.stored.sequence, kMostDrift);
  const StreamPlace& last = place->stored;
  if (const auto found = next(message, last.sequence); found && found->time == last.time)
    return found->sequence + 1;
  // The leader does not have it any more, or with another sequence.
  const auto earliest = next(message, before(last.sequence, kMostDrift));
  if (earliest && earliest->time >= message.stored.time) return std::nullopt;
  for (std::uint64_t step = 1;; step = 2 * step + 1) {
    const std::uint64_t from = before(last.sequence, step);
    const auto found = next(message, from);
    if (found && found->time == last.time) return found->sequence + 1;
    if (from == 1 || (found && found->time + kMostSkew <= last.time)) return from;
  }
}

/// The first message of its stream from a sequence on.
std::optional<StoredMessage> RecordFollower::next(const Message& message, std::uint64_t from) {
  return jet_stream_.next(site_.stream(Site::Kind::record), message.stored.subject, from);
}

void RecordFollower::add(Message message, Time now) {
  for (std::string& line : message.records)
    records_.push_back({.stream_id = message.stream,
                        .line = std::move(line),
                        .worker = message.head.worker,
                        .epoch = message.head.epoch,
                        .place = std::min(message.stored.sequence, delivered_)});
  if (message.has_id()) seen_[{message.stream, message.head.spool}] = message.head.sequence;
  Place& place = places_[message.stream];
  if (place.subject.empty()) {
    place.subject = message.stored.subject;
    place.since = message.stored.time;
  }
  place.stored = {.sequence = message.stored.sequence, .time = message.stored.time};
  place.head = std::move(message.head);
  place.heard = now;
  place.checks = 0;
}

/// The broker may have taken it when another owner had just begun (begin_epoch()).
void RecordFollower::leave_out(const Message& message) {
  if (message.has_id()) seen_[{message.stream, message.head.spool}] = message.head.sequence;
  if (overtaken_++ > 0) return;
  log(LogLevel::warning, "cluster: records of stream " + quote(message.stream) + " from worker " +
                             message.head.worker + " (epoch " + std::to_string(message.head.epoch) +
                             ") are left out, because epoch " +
                             std::to_string(places_.at(message.stream).head.epoch) +
                             " had begun; further ones are only counted");
}

}  // namespace vcap
