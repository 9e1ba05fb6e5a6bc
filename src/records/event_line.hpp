// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "vcap/records/event_record.hpp"

namespace vcap {

/// The record as one line of JSON with its newline. Keys are in schema order; text that is not
/// UTF-8 is replaced by U+FFFD. Thread-safe.
std::string event_line(const EventRecord& record);

/// What walk_event_lines() calls for each line.
struct EventLineVisitor {
  std::function<void(EventRecord)> on_record;
  std::function<void(std::size_t line)> on_damaged;  ///< `line`: from 1
};

/// Visits the lines of a journal. Returns the bytes of the whole lines; what follows is a part of
/// one. Thread-safe.
std::size_t walk_event_lines(std::string_view text, const EventLineVisitor& visitor);

/// All bytes of an open file. Throws std::system_error.
std::string read_from_start(int file);

}  // namespace vcap
