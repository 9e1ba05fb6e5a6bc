// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/lease_record.hpp"

namespace vcap {

/// The leases of a queue, as far as this process knows: it may be behind the broker. So whoever
/// acts on it reads the record first. It has an entry for each task that is leased, or waits for
/// another attempt. Passive. Thread safety: thread-compatible.
class LeaseView {
 public:
  /// A record with its sequence in the stream. Returns whether something has changed: an older
  /// record than the known one is ignored.
  bool set(const std::string& task, std::uint64_t sequence, const LeaseRecord& record);
  /// The record's sequence, if it is that of this lease, and no attempt at the task has failed.
  std::optional<std::uint64_t> first_attempt(const std::string& task, std::uint64_t number) const;
  /// The task is settled.
  bool remove(const std::string& task) { return entries_.erase(task) > 0; }
  void clear() { entries_.clear(); }

  /// When the first lease runs out; time_point::max() if there is none.
  Clock::time_point first_end() const;
  /// Tasks whose leases have run out by `now`, in the order of their ends.
  std::vector<std::string> run_out(Clock::time_point now) const;
  /// A task that waits for another attempt.
  struct Waiting {
    std::string task{};
    std::uint64_t place = 0;
  };
  /// The one with the lowest place, except those in `avoided`.
  std::optional<Waiting> first_waiting(
      const std::map<std::string, Clock::time_point>& avoided) const;

 private:
  struct Entry {
    std::uint64_t sequence = 0;
    LeaseRecord::State state = LeaseRecord::State::waiting;
    Clock::time_point until{};
    std::uint64_t place = 0;
    std::uint64_t number = 0;
    bool has_failed = false;
  };

  std::map<std::string, Entry> entries_;
};

}  // namespace vcap
