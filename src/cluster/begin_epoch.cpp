// SPDX-License-Identifier: Apache-2.0
#include "cluster/begin_epoch.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// How often, and how long apart, a new owner looks for its first message.
constexpr int kLooks = 10;
constexpr std::chrono::milliseconds kLookPause{100};

/// Absent if it is not valid.
std::optional<RecordBatchHead> head_of(const StoredMessage& message, const std::string& stream) {
  try {
    return read_head(message.body);
  } catch (const ClusterError& error) {
    if (error.code() != ErrorCode::invalid_message) throw;
    log(LogLevel::warning, "cluster: stream " + quote(stream) +
                               ": its last records are ignored, so the count of its frames may "
                               "begin anew: " +
                               error.what());
    return std::nullopt;
  }
}

/// What the broker has of a subject behind a sequence, up to a message that it has just stored.
struct Stored {
  bool is_there = false;  ///< that message
  std::optional<StoredMessage> before{};
};

Stored look(JetStream& jet_stream, const std::string& stream, const std::string& subject,
            std::uint64_t first, std::uint64_t sequence) {
  Stored found;
  while (auto next = jet_stream.next(stream, subject, first + 1)) {
    found.is_there = next->sequence == sequence;
    if (next->sequence >= sequence) break;
    first = next->sequence;
    found.before = std::move(next);
  }
  return found;
}

/// A server that has just lost its lead may answer with what it had. So this waits until the
/// message is there, since all before it are then, too.
Stored await(JetStream& jet_stream, const std::string& stream, const std::string& subject,
             std::uint64_t first, std::uint64_t sequence) {
  for (int i = 0;; ++i) {
    Stored found = look(jet_stream, stream, subject, first, sequence);
    if (found.is_there || i == kLooks) return found;
    std::this_thread::sleep_for(kLookPause);
  }
}

}  // namespace

std::optional<std::uint64_t> begin_epoch(JetStream& jet_stream, const Site& site,
                                         const NewEpoch& epoch, EpochBegin& begin) {
  const std::string stream = site.stream(Site::Kind::record);
  const std::string subject = site.subject(Site::Kind::record, {epoch.epoch.stream});
  std::optional<StoredMessage> last = jet_stream.last(stream, subject);
  begin.is_first = !last && epoch.epoch.epoch == 1;
  std::uint64_t expected = last ? last->sequence : 0;
  bool has_begun = false;
  bool is_behind = false;  // the last message, behind one of this owner
  for (;;) {
    const auto head = last ? head_of(*last, epoch.epoch.stream) : std::nullopt;
    if (head && head->epoch > epoch.epoch.epoch) return std::nullopt;
    // Readers leave out what an earlier owner stores behind this one's first message.
    if (head && (!is_behind || head->epoch == epoch.epoch.epoch)) {
      begin.frame_index = head->next_frame_index;
      // The stream's time goes on while nobody has it.
      begin.pts = head->pts + std::max<std::chrono::nanoseconds>(epoch.time() - last->time,
                                                                 std::chrono::milliseconds(1));
    }
    const auto sequence =
        jet_stream.store(subject, begin_message(epoch.epoch, epoch.worker, begin), expected);
    is_behind = has_begun;
    if (!sequence) {
      last = jet_stream.last(stream, subject);
      expected = last ? last->sequence : 0;
      continue;
    }
    Stored stored = await(jet_stream, stream, subject, expected, *sequence);
    if (!stored.is_there)
      throw ClusterError(ErrorCode::broker_unreachable,
                         "the broker has lost the message with which an owner of stream " +
                             quote(epoch.epoch.stream) + " begins");
    if (!stored.before) return sequence;
    last = std::move(stored.before);
    begin.is_first = false;
    expected = *sequence;
    has_begun = true;
  }
}

}  // namespace vcap
