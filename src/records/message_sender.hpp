// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// A message as it is sent. Thread safety: value.
struct OutgoingMessage {
  std::uint64_t sequence = 0;
  std::string id{};  ///< the same each time that it is sent
  std::string stream_id{};
  std::string body{};  ///< a JSON object, which has spool and sequence, too
};

/// Sends messages to a broker or server. Implemented for each protocol; called by a MessagePump.
/// Thread safety: thread-compatible, but stop() is thread-safe.
class VCAP_EXPORT MessageSender {
 public:
  /// A message that the receiver will never take.
  struct Refusal {
    std::size_t index = 0;  ///< in the messages of the call
    std::string reason{};
  };
  /// A message that an earlier call delivered, and that the receiver has lost for good.
  struct Loss {
    OutgoingMessage message{};
    std::string reason{};
  };
  struct Result {
    std::size_t settled = 0;  ///< so many of the first messages are delivered, or refused
    std::vector<Refusal> refused{};
    std::vector<Loss> lost{};             ///< they count as refused instead
    std::string failure{};                ///< why the others are not settled; empty: all are
    std::chrono::seconds retry_after{0};  ///< at least, as the receiver wants; 0: as the pump does
  };

  MessageSender() = default;
  MessageSender(const MessageSender&) = delete;
  MessageSender& operator=(const MessageSender&) = delete;
  virtual ~MessageSender();

  /// Returns when all messages are settled, or when it cannot go on now, after its timeout at the
  /// latest. Messages are delivered in their order. What is not settled is sent again, even if it
  /// was perhaps delivered. [pump thread]
  virtual Result send(std::span<const OutgoingMessage> messages) = 0;
  /// send() returns as soon as it can, now and later. [any thread]
  virtual void stop() noexcept = 0;
};

}  // namespace vcap
