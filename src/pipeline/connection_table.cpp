// SPDX-License-Identifier: Apache-2.0
#include "pipeline/connection_table.hpp"

#include <algorithm>

namespace vcap {

ConnectionTable::Admission ConnectionTable::admit(std::uint32_t address) {
  const bool is_address_full = count(address) >= limits_.per_address;
  if (!is_address_full && size() < limits_.connections) return {};
  int socket = -1;
  Connection* const victim =
      oldest_without_request(is_address_full ? std::optional(address) : std::nullopt, socket);
  if (!victim) return {.admitted = false};
  victim->is_ending = true;
  return {.evicted = socket};
}

void ConnectionTable::open(int socket, std::uint32_t address, time_point now) {
  connections_.insert_or_assign(socket, Connection{.address = address,
                                                   .number = next_number_++,
                                                   .deadline = now + limits_.request_deadline});
}

void ConnectionTable::body_begins(int socket, time_point now) {
  const auto found = connections_.find(socket);
  if (found == connections_.end()) return;
  found->second.has_request = true;
  found->second.deadline = now + limits_.request_deadline;
}

void ConnectionTable::body_received(int socket, std::uint64_t bytes, time_point now) {
  const auto found = connections_.find(socket);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (bytes < connection.body_bytes + ConnectionLimits::kLeastBody) return;
  connection.body_bytes = bytes;
  connection.deadline = now + limits_.request_deadline;
}

void ConnectionTable::wait(int socket) {
  const auto found = connections_.find(socket);
  if (found == connections_.end()) return;
  found->second.has_request = true;
  found->second.deadline = time_point::max();
}

void ConnectionTable::request_complete(int socket, time_point now) {
  const auto found = connections_.find(socket);
  if (found == connections_.end()) return;
  found->second.has_request = true;
  found->second.deadline = now + limits_.answer_deadline;
}

void ConnectionTable::close(int socket) { connections_.erase(socket); }

std::optional<ConnectionTable::time_point> ConnectionTable::next_deadline() const {
  std::optional<time_point> next;
  for (const auto& [socket, connection] : connections_)
    if (!connection.is_ending && connection.deadline != time_point::max())
      next = std::min(next.value_or(connection.deadline), connection.deadline);
  return next;
}

std::vector<int> ConnectionTable::end_overdue(time_point now) {
  std::vector<int> overdue;
  for (auto& [socket, connection] : connections_) {
    if (connection.is_ending || connection.deadline > now) continue;
    connection.is_ending = true;
    overdue.push_back(socket);
  }
  return overdue;
}

std::size_t ConnectionTable::size() const { return count(std::nullopt); }

std::size_t ConnectionTable::count(std::optional<std::uint32_t> address) const {
  return static_cast<std::size_t>(std::ranges::count_if(connections_, [&](const auto& entry) {
    return !entry.second.is_ending && (!address || entry.second.address == *address);
  }));
}

ConnectionTable::Connection* ConnectionTable::oldest_without_request(
    std::optional<std::uint32_t> address, int& socket) {
  Connection* oldest = nullptr;
  for (auto& [key, connection] : connections_) {
    if (connection.is_ending || connection.has_request) continue;
    if (address && connection.address != *address) continue;
    if (oldest && oldest->number < connection.number) continue;
    oldest = &connection;
    socket = key;
  }
  return oldest;
}

}  // namespace vcap
