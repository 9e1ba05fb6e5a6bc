// SPDX-License-Identifier: Apache-2.0
#include "cluster/record_sender.hpp"

#include <charconv>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "cluster/stream_message.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// As OutgoingMessage::id.
std::string id_of(const RecordBatchHead& head) {
  return head.spool + '-' + std::to_string(head.sequence);
}

/// Of OutgoingMessage::id.
std::string spool_of(const std::string& id) { return id.substr(0, id.rfind('-')); }

/// Whether the same may succeed later.
bool may_pass(const ClusterError& error) {
  return error.code() != ErrorCode::invalid_message && error.code() != ErrorCode::broker_refused;
}

/// Whether `message` was delivered if `head` is the last message of its owner: those of a spool are
/// delivered in their order.
bool is_up_to(const OutgoingMessage& message, const RecordBatchHead& head) {
  const std::size_t end = message.id.rfind('-');
  if (end == message.id.npos || message.id.compare(0, end, head.spool) != 0) return false;
  std::uint64_t sequence = 0;
  std::from_chars(message.id.data() + end + 1, message.id.data() + message.id.size(), sequence);
  return sequence <= head.sequence;
}

}  // namespace

RecordSender::RecordSender(std::shared_ptr<Cluster> cluster, OnSettled on_settled)
    : cluster_(std::move(cluster)),
      jet_stream_(*cluster_->impl().broker, without_patience(cluster_->impl().settings)),
      on_settled_(std::move(on_settled)) {}

void RecordSender::begin(const StreamEpoch& epoch, std::uint64_t sequence) {
  const MutexLock lock(mutex_);
  last_[epoch] = sequence;
}

void RecordSender::forget(const StreamEpoch& epoch) {
  const MutexLock lock(mutex_);
  last_.erase(epoch);
  ended_.erase(epoch);
  over_.erase(epoch);
  sent_.forget(epoch);
}

MessageSender::Result RecordSender::send(std::span<const OutgoingMessage> messages) {
  Result result;
  try {
    while (result.settled < messages.size()) {
      std::vector<Parcel> parcels = first_of_streams(messages.subspan(result.settled));
      if (!stopped_) deliver_at_once(parcels);
      for (Parcel& parcel : parcels) {
        if (stopped_) throw ClusterError(ErrorCode::closed, "it was stopped");
        if (!parcel.is_delivered && parcel.refusal.empty()) deliver(parcel, result.lost);
        if (!parcel.is_delivered) result.refused.push_back({result.settled, parcel.refusal});
        ++result.settled;
        on_settled_(parcel.epoch, parcel.is_delivered);
      }
    }
  } catch (const ClusterError& error) {
    result.failure = error.what();
  }
  return result;
}

/// The first messages, one of each stream at most: the next one of a stream needs the sequence that
/// the broker gives to the one before.
std::vector<RecordSender::Parcel> RecordSender::first_of_streams(
    std::span<const OutgoingMessage> messages) {
  std::vector<Parcel> parcels;
  std::set<std::string> streams;
  for (const OutgoingMessage& message : messages) {
    Parcel parcel{.message = &message};
    try {
      parcel.epoch = read_key(message.stream_id);
    } catch (const ClusterError& error) {
      parcel.refusal = error.what();
    }
    if (!streams.insert(parcel.epoch.stream).second) break;
    parcels.push_back(std::move(parcel));
  }
  return parcels;
}

void RecordSender::deliver_at_once(std::span<Parcel> parcels) {
  std::vector<JetStream::NewMessage> sent;
  std::vector<Parcel*> waiting;
  {
    const MutexLock lock(mutex_);
    for (Parcel& parcel : parcels) {
      const auto known = last_.find(parcel.epoch);
      if (known == last_.end()) continue;
      sent.push_back({.subject = subject_of(parcel.epoch),
                      .body = parcel.message->body,
                      .last = known->second});
      waiting.push_back(&parcel);
    }
  }
  try {
    const auto sequences = jet_stream_.store_each(sent);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (!sequences[i]) continue;
      note_delivered(waiting[i]->epoch, waiting[i]->message->sequence, *sequences[i],
                     std::move(sent[i].body));
      waiting[i]->is_delivered = true;
    }
  } catch (const ClusterError& error) {
    if (may_pass(error)) throw;  // else the tries one by one show which message it is
  }
}

/// `lost`: gets what the broker has lost of its owner, if another one has begun.
void RecordSender::deliver(Parcel& parcel, std::vector<Loss>& lost) {
  {
    // After a message that was refused, the broker has no later one of this owner.
    const MutexLock lock(mutex_);
    if (const auto over = over_.find(parcel.epoch); over != over_.end()) {
      parcel.refusal = over->second;
      return;
    }
  }
  try {
    const Found found = try_to_deliver(parcel.epoch, *parcel.message);
    parcel.is_delivered = found.is_delivered;
    parcel.refusal = found.refusal;
    if (parcel.is_delivered) return;
    const MutexLock lock(mutex_);
    if (found.in_spool)
      for (SentRecords::Message& message : sent_.after(parcel.epoch, *found.in_spool))
        lost.push_back({.message = {.sequence = message.sequence,
                                    .id = spool_of(parcel.message->id) + '-' +
                                          std::to_string(message.sequence),
                                    .stream_id = parcel.message->stream_id,
                                    .body = std::move(message.body)},
                        .reason = "it was taken, and lost; " + found.refusal});
    over_[parcel.epoch] = parcel.refusal;
    last_.erase(parcel.epoch);
    sent_.forget(parcel.epoch);
  } catch (const ClusterError& error) {
    if (may_pass(error)) throw;
    parcel.refusal = error.what();
  }
}

std::string RecordSender::subject_of(const StreamEpoch& epoch) const {
  return cluster_->impl().site.subject(Site::Kind::record, {epoch.stream});
}

RecordSender::Found RecordSender::try_to_deliver(const StreamEpoch& epoch,
                                                 const OutgoingMessage& message) {
  const std::string subject = subject_of(epoch);
  std::optional<std::uint64_t> last;
  {
    const MutexLock lock(mutex_);
    if (const auto known = last_.find(epoch); known != last_.end()) last = known->second;
  }
  // Without a known place, or if another message is the last one, look up what is there.
  for (int attempt = 0;; ++attempt) {
    if (last)
      if (const auto sequence = jet_stream_.store(subject, message.body, *last)) {
        note_delivered(epoch, message.sequence, *sequence, message.body);
        return {.is_delivered = true};
      }
    Found found = find_place(epoch, message);
    if (found.is_delivered && found.last) {
      const MutexLock lock(mutex_);
      last_[epoch] = *found.last;
    }
    if (found.is_delivered || !found.refusal.empty()) return found;
    if (attempt > 1)
      throw ClusterError(ErrorCode::broker_unreachable,
                         "the last record of stream " + quote(epoch.stream) + " keeps changing");
    last = send_lost(epoch, found);
  }
}

void RecordSender::note_delivered(const StreamEpoch& epoch, std::uint64_t in_spool,
                                  std::uint64_t sequence, std::string body) {
  const MutexLock lock(mutex_);
  last_[epoch] = sequence;
  sent_.add(epoch, in_spool, std::move(body));
}

/// Sends again what the broker has lost of an owner. Returns the sequence of the last message then;
/// `nullopt` if it is not known.
std::optional<std::uint64_t> RecordSender::send_lost(const StreamEpoch& epoch, const Found& found) {
  if (!found.last || !found.in_spool) return found.last;
  std::vector<SentRecords::Message> lost;
  bool has_dropped = false;
  {
    const MutexLock lock(mutex_);
    lost = sent_.after(epoch, *found.in_spool);
    has_dropped = sent_.has_dropped_after(epoch, *found.in_spool);
  }
  if (!lost.empty())
    log(LogLevel::warning, "cluster: the broker has lost " + counted(lost.size(), "message") +
                               " of stream " + quote(epoch.stream) + " that it had taken" +
                               (has_dropped ? ", and older ones that are not kept any more" : "") +
                               "; they are sent again");
  std::optional<std::uint64_t> last = found.last;
  for (const SentRecords::Message& message : lost) {
    last = jet_stream_.store(subject_of(epoch), message.body, *last);
    if (!last) return std::nullopt;
    const MutexLock lock(mutex_);
    last_[epoch] = *last;
  }
  return last;
}

RecordSender::Found RecordSender::find_place(const StreamEpoch& epoch,
                                             const OutgoingMessage& message) {
  const Site& site = cluster_->impl().site;
  const auto another = [&epoch](std::uint64_t owner, const std::string& worker) {
    return Found{.refusal = "stream " + quote(epoch.stream) + " has another owner since, worker " +
                            worker + " (epoch " + std::to_string(owner) + "; this is epoch " +
                            std::to_string(epoch.epoch) + ')'};
  };
  const auto last = jet_stream_.last(site.stream(Site::Kind::record),
                                     site.subject(Site::Kind::record, {epoch.stream}));
  if (last) {
    try {
      const RecordBatchHead head = read_head(last->body);
      if (head.epoch == epoch.epoch) {
        // Two workers have claimed the same epoch at once.
        if (head.worker != read_head(message.body).worker) return another(head.epoch, head.worker);
        // If a later message is there, the next ones of the spool may be, too.
        if (is_up_to(message, head) && id_of(head) != message.id) return {.is_delivered = true};
        return {.last = last->sequence,
                .is_delivered = id_of(head) == message.id,
                .in_spool = head.sequence};
      }
      if (head.epoch > epoch.epoch) {
        const auto own = known_last_of(epoch, last->sequence);
        // An owner may have delivered it before the next one began, and did not get the answer.
        if (own && is_up_to(message, *own)) return {.is_delivered = true};
        Found found = another(head.epoch, head.worker);
        found.in_spool = own ? own->sequence : 0;
        return found;
      }
      if (head.epoch < epoch.epoch && !has_kept_last(epoch))
        return {.refusal = "the broker has lost what stream " + quote(epoch.stream) +
                           " had of epoch " + std::to_string(epoch.epoch),
                .in_spool = 0};
    } catch (const ClusterError& error) {
      // Not a worker's message: the owner's record decides.
      if (error.code() != ErrorCode::invalid_message) throw;
    }
  }
  // The last records are too old and were removed, or this process had not begun.
  const auto owner = jet_stream_.last(site.stream(Site::Kind::owner),
                                      site.subject(Site::Kind::owner, {epoch.stream}));
  if (!owner) return {.refusal = "stream " + quote(epoch.stream) + " was removed"};
  const OwnerMessage current = read_owner_message(owner->body);
  if (current.epoch > epoch.epoch) return another(current.epoch, current.worker);
  return {.last = last ? last->sequence : 0};
}

/// Whether the last known message of an owner is where it was stored. If not, its next messages
/// would not come behind its first one.
bool RecordSender::has_kept_last(const StreamEpoch& epoch) {
  std::uint64_t known = 0;
  {
    const MutexLock lock(mutex_);
    const auto found = last_.find(epoch);
    if (found == last_.end()) return true;  // of an earlier process
    known = found->second;
  }
  const Site& site = cluster_->impl().site;
  const auto message = jet_stream_.next(site.stream(Site::Kind::record),
                                        site.subject(Site::Kind::record, {epoch.stream}), known);
  return message && message->sequence == known && read_head(message->body).epoch == epoch.epoch;
}

/// The same as last_of(), which is asked once.
std::optional<RecordBatchHead> RecordSender::known_last_of(const StreamEpoch& epoch,
                                                           std::uint64_t end) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = ended_.find(epoch); found != ended_.end()) return found->second;
  }
  std::optional<RecordBatchHead> last = last_of(epoch, end);
  const MutexLock lock(mutex_);
  ended_[epoch] = last;
  return last;
}

/// The last message of an owner. The epochs of a stream's messages do not go back, so it is found
/// by bisection.
std::optional<RecordBatchHead> RecordSender::last_of(const StreamEpoch& epoch, std::uint64_t end) {
  const Site& site = cluster_->impl().site;
  std::optional<RecordBatchHead> last;
  for (std::uint64_t begin = 1; begin < end;) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    const auto message = jet_stream_.next(site.stream(Site::Kind::record),
                                          site.subject(Site::Kind::record, {epoch.stream}), middle);
    std::optional<RecordBatchHead> head;
    if (message) head = read_head(message->body);
    if (head && head->epoch <= epoch.epoch) {
      if (head->epoch == epoch.epoch) last = std::move(head);
      begin = message->sequence + 1;
    } else {
      end = middle;
    }
  }
  return last;
}

}  // namespace vcap
