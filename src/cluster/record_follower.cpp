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
/// By how much the sequences of servers may differ. We saw 3.
constexpr std::uint64_t kMostDrift = 1'000;
/// By how much the clocks of servers may differ, whose times of messages are compared.
constexpr std::chrono::seconds kMostSkew{10};
/// Quiet streams that are asked for at a time.
constexpr int kMostQuiet = 100;

}  // namespace

RecordFollower::RecordFollower(JetStream& jet_stream, const Site& site, std::uint64_t after)
    : jet_stream_(jet_stream), site_(site), after_(after) {}

void RecordFollower::take(const StoredMessage& stored, Time now) {
  std::optional<Message> message;
  try {
    message.emplace(read(stored));
  } catch (const ClusterError& error) {
    ++refused_;
    log(LogLevel::warning,
        "cluster: records on " + quote(stored.subject) + " are left out: " + error.what());
    return;
  }
  if (is_known(*message)) return;
  if (!is_next(*message)) {
    fill_gap(*message, now);
    if (is_known(*message)) return;
  }
  if (is_over(*message))
    leave_out(*message);
  else
    add(std::move(*message), now);
}

void RecordFollower::look_at_quiet_streams(Time now) {
  int looks = 0;
  for (auto& [stream, place] : places_) {
    if (place.is_checked || now < place.heard + kQuietTime) continue;
    if (++looks > kMostQuiet) return;
    const auto last = jet_stream_.last(site_.stream(Site::Kind::record), place.subject);
    if (last && last->time != place.stored.time) take(*last, now);
    // If something was missing, more may be.
    place.is_checked = place.heard != now;
  }
}

RecordFollower::Message RecordFollower::read(const StoredMessage& message) {
  return {.stored = message,
          .stream = last_token(message.subject),
          .head = read_head(message.body),
          .records = read_records(message.body)};
}

bool RecordFollower::is_known(const Message& message) const {
  if (message.has_id()) {
    // Workers store each message once; other ways to the site may not.
    const auto seen = seen_.find({message.stream, message.head.spool});
    return seen != seen_.end() && message.head.sequence <= seen->second;
  }
  const auto place = places_.find(message.stream);
  return place != places_.end() && message.stored.time <= place->second.stored.time;
}

/// Whether a later owner has begun. A stream that was forgotten begins anew.
bool RecordFollower::is_over(const Message& message) const {
  const auto place = places_.find(message.stream);
  if (place == places_.end() || message.head.epoch >= place->second.head.epoch) return false;
  return message.has_id() || message.head.epoch > 1 ||
         message.stored.time <= place->second.stored.time;
}

/// Whether nothing is missing between the place of its stream and the message.
bool RecordFollower::is_next(const Message& message) const {
  const auto found = places_.find(message.stream);
  if (found == places_.end()) return false;
  const RecordBatchHead& last = found->second.head;
  const RecordBatchHead& head = message.head;
  // An owner begins where the last message before ended.
  if (!message.has_id()) return head.next_frame_index == last.next_frame_index;
  if (head.epoch != last.epoch || head.worker != last.worker) return false;
  return head.number == 0 || head.number == last.number + 1;
}

/// Adds what the leader has between the place of the stream and the message.
void RecordFollower::fill_gap(const Message& message, Time now) {
  for (int look = 0; !try_to_fill_gap(message, now) && look < kAsks; ++look)
    std::this_thread::sleep_for(kAskPause);
}

/// Returns false if the leader does not have the message itself.
bool RecordFollower::try_to_fill_gap(const Message& message, Time now) {
  const std::string stream = site_.stream(Site::Kind::record);
  const std::string& subject = message.stored.subject;
  std::uint64_t from = begin_of_gap(message);
  while (const auto next = jet_stream_.next(stream, subject, from)) {
    if (next->time == message.stored.time) return true;
    if (next->sequence > message.stored.sequence + kMostDrift) return false;
    from = next->sequence + 1;
    try {
      Message missing = read(*next);
      if (!is_known(missing) && !is_over(missing)) add(std::move(missing), now);
    } catch (const ClusterError&) {  // not valid; it is counted if it comes
    }
  }
  return false;
}

/// The sequence, as the leader has it, behind the place of the message's stream.
std::uint64_t RecordFollower::begin_of_gap(const Message& message) {
  const auto found = places_.find(message.stream);
  if (found == places_.end()) return std::min(after_ + 1, message.stored.sequence);
  const StreamPlace& place = found->second.stored;
  // If the leader has another sequence for it, or does not have it, the place is found by time.
  for (std::uint64_t step = 0;; step = 2 * step + 1) {
    const std::uint64_t from = place.sequence > step ? place.sequence - step : 1;
    const auto next =
        jet_stream_.next(site_.stream(Site::Kind::record), message.stored.subject, from);
    if (next && next->time == place.time) return next->sequence + 1;
    if (from == 1 || (next && next->time + kMostSkew <= place.time)) return from;
  }
}

void RecordFollower::add(Message message, Time now) {
  for (std::string& line : message.records)
    records_.push_back({.stream_id = message.stream,
                        .line = std::move(line),
                        .worker = message.head.worker,
                        .epoch = message.head.epoch,
                        .place = message.stored.sequence});
  if (message.has_id()) seen_[{message.stream, message.head.spool}] = message.head.sequence;
  places_[message.stream] = {
      .subject = message.stored.subject,
      .stored = {.sequence = message.stored.sequence, .time = message.stored.time},
      .head = std::move(message.head),
      .heard = now};
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
