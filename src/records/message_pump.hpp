// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/thread_annotations.hpp"
#include "files/file_descriptor.hpp"
#include "records/message_sender.hpp"
#include "records/message_spool.hpp"
#include "vcap/base/clock.hpp"
#include "vcap/base/export.hpp"
#include "vcap/records/publisher.hpp"

namespace vcap {

/// Sends the messages of a spool from a thread of its own, in their order, as often as needed.
///
/// After a failure it waits, twice as long each time, and goes back to the last message that was
/// confirmed. A message that the receiver refuses is put into `refused.jsonl` in the spool's
/// folder. Owned by a Publisher and by its own thread: if a sender does not return in time at the
/// end, the thread is left alone. Thread safety: thread-safe.
class VCAP_EXPORT MessagePump : public std::enable_shared_from_this<MessagePump> {
 public:
  /// `name`: the receiver, for messages; without secrets. Throws InvalidArgument for a policy out
  /// of range, and what the spool throws.
  static std::shared_ptr<MessagePump> start(std::string name, const SpoolSettings& spool,
                                            std::unique_ptr<MessageSender> sender,
                                            PublishPolicy policy);
  /// By start().
  MessagePump(std::string name, const SpoolSettings& spool, std::unique_ptr<MessageSender> sender,
              PublishPolicy policy);
  ~MessagePump();

  /// Returns when the message is in the spool. Throws OutputError if the pump is closed, or the
  /// spool cannot be written.
  void add(std::string_view stream_id, std::string_view body, SpoolPlace place = {});
  /// If the spool cannot be written, the message is lost, which is counted and logged once. Throws
  /// OutputError if the pump is closed.
  void add_or_lose(std::string_view stream_id, std::string_view body);
  MessageSpool& spool() noexcept { return spool_; }
  const std::string& name() const noexcept { return name_; }

  PublisherStats stats() const VCAP_EXCLUDES(mutex_);
  void begin_close() VCAP_EXCLUDES(mutex_);
  void close() VCAP_EXCLUDES(close_mutex_, mutex_);
  /// Ends without sending what waits.
  void leave() VCAP_EXCLUDES(close_mutex_, mutex_);

 private:
  void begin_thread() VCAP_EXCLUDES(close_mutex_);
  void check_open() const VCAP_EXCLUDES(mutex_);
  void run() VCAP_EXCLUDES(mutex_);
  bool await_messages() VCAP_EXCLUDES(mutex_);
  /// Sends some; returns false if it is to be tried again after a pause.
  bool send_some() VCAP_EXCLUDES(mutex_);
  MessageSender::Result attempt(const std::vector<OutgoingMessage>& messages);
  bool settle(const std::vector<OutgoingMessage>& messages, const MessageSender::Result& result)
      VCAP_EXCLUDES(mutex_);
  void set_aside(const OutgoingMessage& message, const std::string& reason);
  void note_failure(const MessageSender::Result& result) VCAP_EXCLUDES(mutex_);
  void note_success(std::uint64_t delivered, std::uint64_t refused) VCAP_EXCLUDES(mutex_);
  bool pause() VCAP_EXCLUDES(mutex_);
  void end(bool at_once) VCAP_EXCLUDES(close_mutex_, mutex_);
  void end_thread(bool at_once) VCAP_REQUIRES(close_mutex_) VCAP_EXCLUDES(mutex_);
  void warn_of_losses() VCAP_EXCLUDES(mutex_);

  const std::string name_;
  const PublishPolicy policy_;  ///< its clock is set
  MessageSpool spool_;
  const std::unique_ptr<MessageSender> sender_;
  FileDescriptor refused_file_;      ///< of the pump's thread
  std::uint64_t refused_bytes_ = 0;  ///< of the pump's thread

  Mutex close_mutex_;  ///< before mutex_, which comes before the spool's
  std::thread thread_ VCAP_GUARDED_BY(close_mutex_);
  mutable Mutex mutex_;
  CondVar changed_;
  bool closing_ VCAP_GUARDED_BY(mutex_) = false;   ///< ends when all is sent, or cannot be
  bool stopping_ VCAP_GUARDED_BY(mutex_) = false;  ///< ends now
  bool ended_ VCAP_GUARDED_BY(mutex_) = false;
  bool has_tried_at_close_ VCAP_GUARDED_BY(mutex_) = false;  ///< in vain
  bool warned_of_losses_ VCAP_GUARDED_BY(mutex_) = false;
  Clock::time_point close_at_ VCAP_GUARDED_BY(mutex_){};
  std::chrono::nanoseconds pause_ VCAP_GUARDED_BY(mutex_){0};  ///< after the next failure
  std::chrono::seconds least_pause_ VCAP_GUARDED_BY(mutex_){0};
  std::uint64_t failures_in_a_row_ VCAP_GUARDED_BY(mutex_) = 0;
  PublisherStats stats_ VCAP_GUARDED_BY(mutex_);  ///< what the spool does not count
};

}  // namespace vcap
