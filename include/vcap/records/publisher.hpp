// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

class Clock;
class MessagePump;

/// Where messages wait until they are sent. Thread safety: value.
struct SpoolSettings {
  /// A folder for this publisher alone; it is created if it is missing. What an earlier process
  /// left in it is sent first.
  std::string folder{};
  /// The most bytes of waiting messages, at least 64 KiB. Beyond it, the oldest are lost, a
  /// sixteenth of the bound at a time.
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
};

/// How a publisher retries and ends. Thread safety: value.
struct PublishPolicy {
  /// close() sends for so long what waits; the rest stays in the spool. From 0 to 1 day.
  std::chrono::nanoseconds end_wait = std::chrono::seconds(5);
  /// The pause after a failure. It doubles with each further one, up to `longest_pause`. From 1 ms
  /// to 1 day.
  std::chrono::nanoseconds first_pause = std::chrono::seconds(1);
  std::chrono::nanoseconds longest_pause = std::chrono::seconds(60);
  /// Null: the machine's steady clock.
  std::shared_ptr<Clock> clock{};
};

/// What became of a publisher's messages. Each is in one of these, beside those that an earlier
/// process had left. Thread safety: value.
struct PublisherStats {
  std::uint64_t delivered = 0;
  std::uint64_t refused = 0;  ///< by the receiver for ever; they are in refused.jsonl of the spool
  std::uint64_t waiting = 0;  ///< in the spool, or being sent
  /// By reason: "full" (the spool's bound), "too large" (a message of more than a quarter of the
  /// bound), "disk" (the spool could not be written), "damaged" (its files were).
  std::map<std::string, std::uint64_t> lost{};
  std::uint64_t spool_bytes = 0;
  std::uint64_t failed_attempts = 0;          ///< to send; each is tried again after a pause
  bool is_failing = false;                    ///< the last attempt to send failed
  std::optional<std::string> last_failure{};  ///< why sending, or the spool, failed last
};

/// Sends records as messages to a broker or server, through a spool on disk (docs/messages.md).
///
/// A message is a JSON object: the record with the further field `message`, which has the `spool`'s
/// id and the `sequence` of the message in it, from 1. They are the same each time that the message
/// is sent. Messages are sent in order and at least once; a reader that remembers the last sequence
/// of each spool has each exactly once, and sees from a gap that some were lost.
///
/// Adding a message writes it to the spool and returns; a thread of the publisher sends it. So a
/// broker that is away or slow holds up no stream, and messages wait for it in the spool, also
/// over the end of the process in any way. Thread safety: thread-safe.
class VCAP_EXPORT Publisher {
 public:
  /// By make_mqtt_publisher() and the others.
  explicit Publisher(std::shared_ptr<MessagePump> pump) noexcept;
  /// Without close(): what waits stays in the spool.
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// Adds a JSON object. Throws InvalidArgument (invalid_json) for other text; OutputError
  /// (output_write) if the publisher is closed. If the spool cannot be written, the message is
  /// lost, which is counted, and a warning says so once.
  void publish(const std::string& stream_id, const std::string& object);
  PublisherStats stats() const;
  /// Starts what close() does, without waiting: several publishers can end at a time.
  void begin_close();
  /// Sends what waits, for at most PublishPolicy::end_wait and about two seconds more, or until
  /// sending fails. A warning tells how much stays in the spool. Idempotent. [control]
  void close();

  /// For vcap's own sinks.
  std::shared_ptr<MessagePump> pump() const noexcept { return pump_; }

 private:
  const std::shared_ptr<MessagePump> pump_;
};

/// Publishes each frame record (docs/records.md). It uses no pixels. The host closes the publisher
/// after its streams have ended. Throws InvalidArgument if there is no publisher. Thread safety:
/// thread-safe.
VCAP_EXPORT std::unique_ptr<Sink> make_publishing_sink(std::shared_ptr<Publisher> publisher);

}  // namespace vcap
