// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/record_batch.hpp"
#include "cluster/sent_records.hpp"
#include "records/message_sender.hpp"

namespace vcap {

/// Stores batches of records in JetStream, each once and in the order of its stream, as long as
/// their owner owns their stream. Those of different streams do not wait for each other.
///
/// Each message says which message must be the last one of the stream's subject. The next owner
/// begins with a message of its own, so from then on all messages of the owner before are refused:
/// the publisher sets them aside. If the broker has lost messages that it had taken, those of the
/// last 16 MiB are sent again before the next one; or set aside, if another owner has begun
/// meanwhile. Thread safety: thread-safe.
class RecordSender final : public MessageSender {
 public:
  /// Called after a message was settled: delivered, or refused because there is another owner.
  /// [pump thread]
  using OnSettled = std::function<void(const StreamEpoch&, bool delivered)>;

  RecordSender(std::shared_ptr<Cluster> cluster, OnSettled on_settled);

  /// The owner has begun with the message of this sequence.
  void begin(const StreamEpoch& epoch, std::uint64_t sequence) VCAP_EXCLUDES(mutex_);
  void forget(const StreamEpoch& epoch) VCAP_EXCLUDES(mutex_);

  Result send(std::span<const OutgoingMessage> messages) override;
  void stop() noexcept override { stopped_ = true; }

 private:
  struct Parcel {
    const OutgoingMessage* message = nullptr;
    StreamEpoch epoch{};
    bool is_delivered = false;
    std::string refusal{};  ///< why it never will be; empty: it may be
  };
  static std::vector<Parcel> first_of_streams(std::span<const OutgoingMessage> messages);
  /// Sends parcels of different streams without waiting for each. Those that are not delivered then
  /// need another try.
  void deliver_at_once(std::span<Parcel> parcels) VCAP_EXCLUDES(mutex_);
  void deliver(Parcel& parcel, std::vector<Loss>& lost) VCAP_EXCLUDES(mutex_);
  std::string subject_of(const StreamEpoch& epoch) const;
  struct Found {
    /// What must be the last message's sequence; absent: not known, or another owner has begun.
    std::optional<std::uint64_t> last{};
    bool is_delivered = false;
    std::string refusal{};
    /// The last message of this owner that is there; its begin, or none, has 0. Absent: not known.
    std::optional<std::uint64_t> in_spool{};
  };
  /// Either it is delivered, or it is said why it never will be.
  Found try_to_deliver(const StreamEpoch& epoch, const OutgoingMessage& message)
      VCAP_EXCLUDES(mutex_);
  Found find_place(const StreamEpoch& epoch, const OutgoingMessage& message);
  std::optional<std::uint64_t> send_lost(const StreamEpoch& epoch, const Found& found)
      VCAP_EXCLUDES(mutex_);
  /// `in_spool`: the message's number there; `sequence`: in the broker.
  void note_delivered(const StreamEpoch& epoch, std::uint64_t in_spool, std::uint64_t sequence,
                      std::string body) VCAP_EXCLUDES(mutex_);
  bool has_kept_last(const StreamEpoch& epoch) VCAP_EXCLUDES(mutex_);
  std::optional<RecordBatchHead> known_last_of(const StreamEpoch& epoch, std::uint64_t end)
      VCAP_EXCLUDES(mutex_);
  std::optional<RecordBatchHead> last_of(const StreamEpoch& epoch, std::uint64_t end);

  const std::shared_ptr<Cluster> cluster_;
  JetStream jet_stream_;  ///< the pump repeats, so this does not
  const OnSettled on_settled_;
  std::atomic<bool> stopped_ = false;
  Mutex mutex_;
  std::map<StreamEpoch, std::uint64_t> last_ VCAP_GUARDED_BY(mutex_);
  SentRecords sent_ VCAP_GUARDED_BY(mutex_){std::size_t{16} << 20};
  /// Why no more messages of an owner are taken.
  std::map<StreamEpoch, std::string> over_ VCAP_GUARDED_BY(mutex_);
  /// The last messages of owners after which another one has begun; nothing: there is none.
  std::map<StreamEpoch, std::optional<RecordBatchHead>> ended_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
