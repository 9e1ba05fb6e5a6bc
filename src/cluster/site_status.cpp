// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/site_status.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/host_name.hpp"
#include "cluster/message_json.hpp"
#include "cluster/site_events.hpp"
#include "cluster/site_reader.hpp"
#include "cluster/stream_message.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

constexpr const char* kEvent = "vcap.cluster-event/1";
constexpr std::size_t kMostEvents = 200;

ClusterWorkerStatus::State state_of(const SiteReading& site, const std::string& name,
                                    const SiteView::Worker& worker, bool has_streams) {
  if (worker.message.has_ended) return ClusterWorkerStatus::State::ended;
  if (!site.view.is_alive(name, worker.message.session, site.now))
    return ClusterWorkerStatus::State::dead;
  if (!site.view.is_draining(name)) return ClusterWorkerStatus::State::working;
  return has_streams ? ClusterWorkerStatus::State::draining : ClusterWorkerStatus::State::drained;
}

[[noreturn]] void refuse_worker(const std::string& name, const std::string& why) {
  throw InvalidArgument(ErrorCode::invalid_argument, "worker " + quote(name) + ": " + why);
}

ClusterEvent read_event(const StoredMessage& message) {
  nlohmann::json parsed = parse_message(message.body, kEvent);
  return read_message(kEvent, [&] {
    ClusterEvent event{.time = message.time, .event = parsed.at("event"), .by = parsed.at("by")};
    for (const char* const key : {"schema", "event", "by"}) parsed.erase(key);
    event.details = std::move(parsed);
    return event;
  });
}

}  // namespace

std::string_view to_string(ClusterWorkerStatus::State state) noexcept {
  switch (state) {
    case ClusterWorkerStatus::State::working:
      return "working";
    case ClusterWorkerStatus::State::draining:
      return "draining";
    case ClusterWorkerStatus::State::drained:
      return "drained";
    case ClusterWorkerStatus::State::ended:
      return "ended";
    case ClusterWorkerStatus::State::dead:
      return "dead";
  }
  return "?";
}

std::vector<ClusterWorkerStatus> cluster_workers(Cluster& cluster) {
  const SiteReading site = read_site(cluster);
  std::map<std::string, std::vector<std::string>> streams;
  for (const auto& [id, stream] : site.view.streams())
    if (const std::string owner = site.view.living_owner(id, site.now); !owner.empty())
      streams[owner].push_back(id);
  std::vector<ClusterWorkerStatus> result;
  for (const auto& [name, worker] : site.view.workers()) {
    ClusterWorkerStatus status{.name = name,
                               .state = state_of(site, name, worker, !streams[name].empty()),
                               .host = worker.message.host,
                               .version = worker.message.version,
                               .seen = std::max(site.now - worker.seen, Clock::duration(0)),
                               .capacity = worker.message.capacity,
                               .slots = worker.message.slots,
                               .streams = streams[name],
                               .labels = worker.message.labels,
                               .unfit = worker.message.unfit,
                               .statistics = worker.message.statistics};
    if (status.state != ClusterWorkerStatus::State::dead) status.view = worker.message.view;
    for (const std::string& stream : status.streams) status.load += site.view.load_of(stream);
    result.push_back(std::move(status));
  }
  return result;
}

std::map<std::string, std::int64_t> sum_statistics(
    const std::vector<ClusterWorkerStatus>& workers) {
  std::map<std::string, std::int64_t> sums;
  for (const ClusterWorkerStatus& worker : workers)
    for (const auto& [name, value] : worker.statistics->items())
      if (value.is_number_integer()) sums[name] += value.get<std::int64_t>();
  return sums;
}

void drain_cluster_worker(Cluster& cluster, const std::string& name, bool drain) {
  Cluster::Impl& impl = cluster.impl();
  if (!impl.jet_stream.last(impl.site.stream(Site::Kind::worker),
                            impl.site.subject(Site::Kind::worker, {name})))
    refuse_worker(name, "the site has no such worker");
  impl.jet_stream.store(impl.site.subject(Site::Kind::order, {name}),
                        to_message(OrderMessage{.drain = drain}));
  tell_site(cluster, host_name(), drain ? "worker is to be drained" : "worker is to work again",
            {{"worker", name}});
}

void forget_cluster_worker(Cluster& cluster, const std::string& name) {
  const SiteReading site = read_site(cluster);
  const auto worker = site.view.workers().find(name);
  if (worker == site.view.workers().end()) refuse_worker(name, "the site has no such worker");
  if (site.view.is_alive(name, worker->second.message.session, site.now))
    refuse_worker(name, "it is alive; end it first");
  Cluster::Impl& impl = cluster.impl();
  for (const Site::Kind kind : {Site::Kind::order, Site::Kind::worker})
    impl.jet_stream.purge(impl.site.stream(kind), impl.site.subject(kind, {name}));
}

class ClusterEventReader::Impl {
 public:
  Impl(std::shared_ptr<Cluster> cluster, bool all)
      : cluster_(std::move(cluster)),
        reader_(cluster_->impl().jet_stream, cluster_->impl().site.stream(Site::Kind::event),
                cluster_->impl().site.all(Site::Kind::event, {}),
                all ? StreamPlace{}
                    : cluster_->impl().jet_stream.end(
                          cluster_->impl().site.stream(Site::Kind::event))) {}

  std::vector<ClusterEvent> next(std::chrono::milliseconds wait) {
    std::vector<ClusterEvent> events;
    const std::vector<StoredMessage> messages = reader_.next(kMostEvents, wait);
    has_more_ = messages.size() == kMostEvents;
    for (const StoredMessage& message : messages) {
      try {
        events.push_back(read_event(message));
      } catch (const ClusterError& error) {
        log(LogLevel::warning, "cluster: an event is left out: " + std::string(error.what()));
      }
    }
    return events;
  }
  bool has_more() const noexcept { return has_more_; }

 private:
  const std::shared_ptr<Cluster> cluster_;
  StreamReader reader_;
  bool has_more_ = true;
};

ClusterEventReader::ClusterEventReader(std::shared_ptr<Cluster> cluster, bool all)
    : impl_(std::make_unique<Impl>(std::move(cluster), all)) {}
ClusterEventReader::~ClusterEventReader() = default;
std::vector<ClusterEvent> ClusterEventReader::next(std::chrono::milliseconds wait) {
  return impl_->next(wait);
}

bool ClusterEventReader::has_more() const noexcept { return impl_->has_more(); }

}  // namespace vcap
