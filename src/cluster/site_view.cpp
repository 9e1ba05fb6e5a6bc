// SPDX-License-Identifier: Apache-2.0
#include "cluster/site_view.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// How long a stream whose owners died one after the other is left alone.
constexpr std::chrono::minutes kQuarantine{5};

/// Replaces an entry unless it is as new. Returns whether it did.
template <class Entries, class Read>
bool replace_entry(Entries& entries, const std::string& id, std::uint64_t sequence,
                   Clock::time_point now, const Read& read) {
  const auto known = entries.find(id);
  if (known != entries.end() && sequence <= known->second.sequence) return false;
  if (known != entries.end()) entries.erase(known);
  auto message = read();
  entries[id] = {sequence, std::move(message), now};
  return true;
}

template <class Entries>
void keep_only(Entries& entries, const std::set<std::string>& ids, std::uint64_t sequence) {
  std::erase_if(entries, [&](const auto& entry) {
    return entry.second.sequence <= sequence && !ids.contains(entry.first);
  });
}

/// Whether nothing differs but the numbers of its statistics.
bool places_equally(const WorkerMessage& a, const WorkerMessage& b) {
  const auto parts = [](const WorkerMessage& worker) {
    return std::tie(worker.session, worker.has_ended, worker.capacity, worker.labels, worker.unfit);
  };
  return parts(a) == parts(b);
}

/// Whether nothing differs but what only the next owner needs, such as the checkpoint.
bool places_equally(const OwnerMessage& a, const OwnerMessage& b) {
  const auto parts = [](const OwnerMessage& owner) {
    return std::tie(owner.state, owner.worker, owner.session, owner.epoch, owner.stream,
                    owner.load);
  };
  return parts(a) == parts(b);
}

}  // namespace

bool SiteView::apply(Site::Kind kind, const std::string& id, std::uint64_t sequence,
                     const std::string& body, Clock::time_point now) {
  switch (kind) {
    case Site::Kind::stream:
      return replace_entry(streams_, id, sequence, now, [&] { return read_stream_message(body); });
    case Site::Kind::owner:
      try {
        std::optional<OwnerMessage> before;
        if (const auto* const known = owner(id)) before = known->message;
        return replace_entry(owners_, id, sequence, now,
                             [&] { return read_owner_message(body); }) &&
               !(before && places_equally(*before, owners_.at(id).message));
      } catch (const ClusterError&) {
        owners_[id].sequence = sequence;  // nobody has it, and the next owner replaces the message
        throw;
      }
    case Site::Kind::order:
      return replace_entry(orders_, id, sequence, now, [&] { return read_order_message(body); });
    case Site::Kind::worker: {
      const auto known = workers_.find(id);
      if (known != workers_.end() && sequence <= known->second.sequence) return false;
      WorkerMessage message = read_worker_message(body);
      const bool is_new = known == workers_.end() ||
                          !places_equally(known->second.message, message) ||
                          !is_alive(id, message.session, now);
      workers_[id] = {sequence, std::move(message), now};
      return is_new;
    }
    default:
      return false;
  }
}

void SiteView::keep(Site::Kind kind, const std::set<std::string>& ids, std::uint64_t sequence) {
  if (kind == Site::Kind::stream) keep_only(streams_, ids, sequence);
  if (kind == Site::Kind::owner) keep_only(owners_, ids, sequence);
  if (kind == Site::Kind::order) keep_only(orders_, ids, sequence);
  if (kind == Site::Kind::worker) keep_only(workers_, ids, sequence);
}

void SiteView::drop_newer(Site::Kind kind, std::uint64_t sequence) {
  const auto is_newer = [sequence](const auto& entry) { return entry.second.sequence > sequence; };
  if (kind == Site::Kind::stream) std::erase_if(streams_, is_newer);
  if (kind == Site::Kind::owner) std::erase_if(owners_, is_newer);
  if (kind == Site::Kind::order) std::erase_if(orders_, is_newer);
  if (kind == Site::Kind::worker) std::erase_if(workers_, is_newer);
}

void SiteView::restart_leases(Clock::time_point now) {
  for (auto& [name, worker] : workers_) worker.seen = now;
}

void SiteView::restart_lease(const std::string& worker, Clock::time_point now) {
  if (const auto found = workers_.find(worker); found != workers_.end()) found->second.seen = now;
}

const SiteView::Entry<OwnerMessage>* SiteView::owner(const std::string& stream) const& {
  const auto found = owners_.find(stream);
  return found == owners_.end() ? nullptr : &found->second;
}

bool SiteView::is_draining(const std::string& worker) const {
  const auto found = orders_.find(worker);
  return found != orders_.end() && found->second.message.drain;
}

bool SiteView::is_alive(const std::string& worker, const std::string& session,
                        Clock::time_point now) const {
  const auto found = workers_.find(worker);
  return found != workers_.end() && found->second.message.session == session &&
         !found->second.message.has_ended && now - found->second.seen < found->second.message.lease;
}

std::string SiteView::living_owner(const std::string& stream, Clock::time_point now) const {
  return living(owner(stream), now);
}

std::string SiteView::living(const Entry<OwnerMessage>* owner, Clock::time_point now) const {
  if (owner == nullptr || owner->message.state != OwnerMessage::State::running ||
      !is_alive(owner->message.worker, owner->message.session, now))
    return {};
  return owner->message.worker;
}

Clock::time_point SiteView::first_end(Clock::time_point now) const {
  Clock::time_point first = Clock::time_point::max();
  for (const auto& [name, worker] : workers_)
    if (is_alive(name, worker.message.session, now))
      first = std::min(first, worker.seen + worker.message.lease);
  return first;
}

double SiteView::load_of(const std::string& stream) const {
  const auto owner = owners_.find(stream);
  if (owner != owners_.end() && owner->second.message.load) return *owner->second.message.load;
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : found->second.message.load;
}

Placement SiteView::placement(Clock::time_point now) const {
  std::vector<WorkerToFill> workers;
  for (const auto& [name, worker] : workers_) {
    if (!is_alive(name, worker.message.session, now)) continue;
    WorkerToFill added{.name = name,
                       .capacity = worker.message.capacity,
                       .labels = worker.message.labels,
                       .is_draining = is_draining(name)};
    for (const auto& [stream, reason] : worker.message.unfit) added.unfit.insert(stream);
    workers.push_back(std::move(added));
  }
  std::vector<StreamToPlace> streams;
  std::map<std::string, std::string> quarantined;
  streams.reserve(streams_.size());
  auto next_owner = owners_.begin();  // both are in the order of the streams' names
  for (const auto& [id, entry] : streams_) {
    while (next_owner != owners_.end() && next_owner->first < id) ++next_owner;
    const bool has_owner = next_owner != owners_.end() && next_owner->first == id;
    const Entry<OwnerMessage>* const owner = has_owner ? &next_owner->second : nullptr;
    if (entry.message.is_removed) continue;
    // A stream that was added again runs again.
    const bool is_of_stream = owner != nullptr && owner->message.stream == entry.sequence;
    if (is_of_stream && owner->message.state == OwnerMessage::State::ended) continue;
    if (is_of_stream && owner->message.state == OwnerMessage::State::quarantined &&
        now - owner->seen < kQuarantine) {
      quarantined[id] = owner->message.reason;
      continue;
    }
    const bool is_measured = owner != nullptr && owner->message.load;
    streams.push_back({.id = id,
                       .load = is_measured ? *owner->message.load : entry.message.load,
                       .labels = entry.message.labels,
                       .owner = living(owner, now)});
  }
  Placement placement = place(streams, workers);
  placement.reasons.merge(quarantined);
  return placement;
}

}  // namespace vcap
