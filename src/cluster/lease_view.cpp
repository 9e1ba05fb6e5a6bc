// SPDX-License-Identifier: Apache-2.0
#include "cluster/lease_view.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace vcap {

bool LeaseView::set(const std::string& task, std::uint64_t sequence, const LeaseRecord& record) {
  const auto known = entries_.find(task);
  if (known != entries_.end() && sequence <= known->second.sequence) return false;
  if (record.state == LeaseRecord::State::done || record.state == LeaseRecord::State::given_up)
    return remove(task);
  entries_.insert_or_assign(task, Entry{sequence, record.state, record.until, record.place,
                                        record.number, !record.reasons.empty()});
  return true;
}

std::optional<std::uint64_t> LeaseView::first_attempt(const std::string& task,
                                                      std::uint64_t number) const {
  const auto known = entries_.find(task);
  if (known == entries_.end()) return std::nullopt;
  const Entry& entry = known->second;
  const bool is_it = entry.state == LeaseRecord::State::leased && entry.number == number;
  return is_it && !entry.has_failed ? std::optional(entry.sequence) : std::nullopt;
}

Clock::time_point LeaseView::first_end() const {
  Clock::time_point first = Clock::time_point::max();
  for (const auto& [task, entry] : entries_)
    if (entry.state != LeaseRecord::State::waiting) first = std::min(first, entry.until);
  return first;
}

std::vector<std::string> LeaseView::run_out(Clock::time_point now) const {
  std::vector<std::tuple<Clock::time_point, std::uint64_t, std::string>> ends;
  for (const auto& [task, entry] : entries_)
    if (entry.state != LeaseRecord::State::waiting && entry.until <= now)
      ends.emplace_back(entry.until, entry.sequence, task);
  std::ranges::sort(ends);
  std::vector<std::string> tasks;
  tasks.reserve(ends.size());
  for (auto& end : ends) tasks.push_back(std::move(std::get<std::string>(end)));
  return tasks;
}

std::optional<LeaseView::Waiting> LeaseView::first_waiting(
    const std::map<std::string, Clock::time_point>& avoided) const {
  const std::pair<const std::string, Entry>* first = nullptr;
  for (const auto& entry : entries_) {
    if (entry.second.state != LeaseRecord::State::waiting || avoided.contains(entry.first))
      continue;
    if (first == nullptr || std::tie(entry.second.place, entry.second.sequence) <
                                std::tie(first->second.place, first->second.sequence))
      first = &entry;
  }
  if (first == nullptr) return std::nullopt;
  return Waiting{first->first, first->second.place};
}

}  // namespace vcap
