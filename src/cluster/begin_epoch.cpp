// SPDX-License-Identifier: Apache-2.0
#include "cluster/begin_epoch.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

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

/// The last message of the subject between these sequences, without them.
std::optional<StoredMessage> between(JetStream& jet_stream, const std::string& stream,
                                     const std::string& subject, std::uint64_t first,
                                     std::uint64_t end) {
  std::optional<StoredMessage> found;
  while (const auto next = jet_stream.next(stream, subject, first + 1)) {
    if (next->sequence >= end) break;
    first = next->sequence;
    found = next;
  }
  return found;
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
    last = between(jet_stream, stream, subject, expected, *sequence);
    if (!last) return sequence;
    begin.is_first = false;
    expected = *sequence;
    has_begun = true;
  }
}

}  // namespace vcap
