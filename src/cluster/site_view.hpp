// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/placement.hpp"
#include "cluster/site.hpp"
#include "cluster/stream_message.hpp"
#include "vcap/base/clock.hpp"

namespace vcap {

/// The streams, owners and workers of a site, as far as this process knows: it may be behind the
/// broker. So whoever acts on it uses compare-and-swap.
///
/// A worker is alive until this process has not seen a new heartbeat of it for the worker's lease.
/// So no clocks of two machines are compared. Passive. Thread safety: thread-compatible.
class SiteView {
 public:
  template <class Message>
  struct Entry {
    std::uint64_t sequence = 0;
    Message message{};
    Clock::time_point seen{};
  };
  struct Worker {
    std::uint64_t sequence = 0;
    WorkerMessage message{};
    Clock::time_point seen{};
  };

  /// A message of kind stream, owner, worker or order; other kinds are ignored. Older messages than
  /// the known one are ignored. Returns whether placements may have changed. Throws ClusterError
  /// (invalid_message) for a message that is not valid: it takes its entry away, and a stream with
  /// such an owner has none.
  bool apply(Site::Kind kind, const std::string& id, std::uint64_t sequence,
             const std::string& body, Clock::time_point now);
  /// Removes the entries of a kind that are not newer than `sequence`, except these.
  void keep(Site::Kind kind, const std::set<std::string>& ids, std::uint64_t sequence);
  /// Removes the entries of a kind that are newer than `sequence`: if that is the last one, the
  /// broker has lost them.
  void drop_newer(Site::Kind kind, std::uint64_t sequence);
  /// Nobody could be heard until `now`, so leases begin again.
  void restart_leases(Clock::time_point now);
  /// The same for one worker.
  void restart_lease(const std::string& worker, Clock::time_point now);

  const std::map<std::string, Entry<StreamMessage>>& streams() const& noexcept { return streams_; }
  const std::map<std::string, Entry<StreamMessage>>& streams() const&& = delete;
  const std::map<std::string, Worker>& workers() const& noexcept { return workers_; }
  const std::map<std::string, Worker>& workers() const&& = delete;
  /// The last owner of each stream that ever had one.
  const std::map<std::string, Entry<OwnerMessage>>& owners() const& noexcept { return owners_; }
  const std::map<std::string, Entry<OwnerMessage>>& owners() const&& = delete;
  /// Null if the stream never had one.
  const Entry<OwnerMessage>* owner(const std::string& stream) const&;
  const Entry<OwnerMessage>* owner(const std::string& stream) const&& = delete;
  bool is_draining(const std::string& worker) const;

  /// Whether this process of the worker lives.
  bool is_alive(const std::string& worker, const std::string& session, Clock::time_point now) const;
  /// The living worker that runs the stream; empty: none.
  std::string living_owner(const std::string& stream, Clock::time_point now) const;
  /// When the first living worker dies, if no more is heard; time_point::max() if there is none.
  Clock::time_point first_end(Clock::time_point now) const;
  /// Streams that have ended, or are to be removed, are not placed.
  Placement placement(Clock::time_point now) const;
  /// In cores: as it was measured, or as the stream says.
  double load_of(const std::string& stream) const;

 private:
  /// The same of an owner, which may be null.
  std::string living(const Entry<OwnerMessage>* owner, Clock::time_point now) const;

  std::map<std::string, Entry<StreamMessage>> streams_;
  std::map<std::string, Entry<OwnerMessage>> owners_;
  std::map<std::string, Entry<OrderMessage>> orders_;
  std::map<std::string, Worker> workers_;
};

}  // namespace vcap
