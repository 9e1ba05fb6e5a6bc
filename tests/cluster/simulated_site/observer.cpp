// SPDX-License-Identifier: Apache-2.0
#include "cluster/simulated_site/observer.hpp"

#include <cstdio>
#include <ctime>
#include <utility>

#include <nlohmann/json.hpp>

#include "cluster/cluster_impl.hpp"

namespace vcap::simulated {

using std::chrono::system_clock;

Owners::Owners(const std::shared_ptr<Cluster>& cluster) {
  const Cluster::Impl& impl = cluster->impl();
  subscription_ = impl.broker->subscribe(impl.site.notes(Site::Kind::owner, {}),
                                         [this](const BrokerMessage& note) { hear(note); });
}

Owners::~Owners() = default;

void Owners::hear(const BrokerMessage& note) {
  const OwnerMessage owner = read_owner_message(note.body);
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[last_name(note.subject)];
  const bool was_owned = !entry.worker.empty();
  entry.worker = owner.state == OwnerMessage::State::running ? owner.worker : std::string();
  if (owner.epoch != entry.epoch) {
    entry.epoch = owner.epoch;
    entry.since = system_clock::now();
    ++claims_;
  }
  if (!was_owned && !entry.worker.empty()) ++owned_;
  if (was_owned && entry.worker.empty()) --owned_;
}

std::map<std::string, Owners::Entry> Owners::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

std::map<std::string, std::set<std::string>> Owners::streams() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::set<std::string>> streams;
  for (const auto& [id, entry] : entries_)
    if (!entry.worker.empty()) streams[entry.worker].insert(id);
  return streams;
}

std::size_t Owners::owned() const {
  const std::lock_guard lock(mutex_);
  return owned_;
}

std::uint64_t Owners::claims() const {
  const std::lock_guard lock(mutex_);
  return claims_;
}

namespace {

/// As RFC 3339 has it.
std::string text_of(system_clock::time_point time) {
  const std::time_t since_1970 = system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&since_1970, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

std::map<std::string, system_clock::time_point> first_records(Cluster& cluster,
                                                              const std::set<std::string>& streams,
                                                              system_clock::time_point since) {
  constexpr std::size_t kPage = 1'000;
  constexpr std::chrono::milliseconds kPageWait(500);
  // The first message of an owner has no records.
  constexpr std::size_t kLeastBatch = 600;
  Cluster::Impl& impl = cluster.impl();
  const std::string stream = impl.site.stream(Site::Kind::record);
  const nlohmann::json config = {{"deliver_policy", "by_start_time"},
                                 {"opt_start_time", text_of(since)},
                                 {"ack_policy", "none"},
                                 {"mem_storage", true},
                                 {"headers_only", true},
                                 {"inactive_threshold", 30'000'000'000}};
  const std::string consumer =
      impl.jet_stream
          .demand("CONSUMER.CREATE." + stream, {{"stream_name", stream}, {"config", config}})
          .at("name");
  const std::string next = "$JS.API.CONSUMER.MSG.NEXT." + stream + '.' + consumer;
  const nlohmann::json request = {{"batch", kPage},
                                  {"expires", std::chrono::nanoseconds(kPageWait).count()}};
  std::set<std::string> begun;
  std::map<std::string, system_clock::time_point> first;
  const auto end = system_clock::now();
  for (bool is_behind = true; is_behind && first.size() < streams.size();) {
    is_behind = false;
    for (BrokerMessage& answer :
         impl.broker->gather({.subject = next, .body = request.dump()}, kPage, kPageWait * 2)) {
      if (!answer.status().empty()) continue;
      const std::string size(answer.header("Nats-Msg-Size"));
      const DeliveredMessage message = delivered(std::move(answer));
      const system_clock::time_point time{std::chrono::duration_cast<system_clock::duration>(
          std::chrono::nanoseconds(message.time))};
      is_behind = time < end;
      const std::string id = last_name(message.subject);
      if (time < since || !streams.contains(id)) continue;
      if (std::stoul(size) < kLeastBatch)
        begun.insert(id);
      else if (begun.contains(id))
        first.try_emplace(id, time);
    }
  }
  return first;
}

}  // namespace vcap::simulated
