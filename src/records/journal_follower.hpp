// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "records/event_file.hpp"
#include "records/message_spool.hpp"
#include "vcap/records/publisher.hpp"

namespace vcap {

/// Gives the lines of an event journal to a publisher, each once.
///
/// The publisher's spool knows with each message how far it has taken the journal. So what a
/// killed process or a full disk has kept from the spool is taken later, from the journal. Thread
/// safety: thread-compatible.
class JournalFollower {
 public:
  /// Begins after the last line that the spool has taken of this journal. If it has taken none,
  /// begins after the lines of earlier runs. Throws OutputError.
  JournalFollower(std::shared_ptr<Publisher> publisher, const EventFile& journal);

  /// Takes the lines that are new. If the spool cannot be written, the next call takes them.
  /// Returns a warning about that, the first time; empty otherwise.
  std::string follow(const EventFile& journal);

 private:
  std::size_t take_lines(std::string_view text);
  /// Returns false if the spool did not take it.
  bool take_line(std::string_view line);

  std::shared_ptr<Publisher> publisher_;
  SpoolPlace place_;
  bool has_warned_ = false;
  std::string warning_{};  ///< of this call
};

}  // namespace vcap
