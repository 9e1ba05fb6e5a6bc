// SPDX-License-Identifier: Apache-2.0
#include "cluster/site_reader.hpp"

#include <chrono>
#include <exception>
#include <initializer_list>

#include "cluster/cluster_impl.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// A broker that does not answer within this time is away.
constexpr std::chrono::milliseconds kAnswerWait{100};

SiteReading read_kinds(Cluster& cluster, std::initializer_list<Site::Kind> kinds) {
  Cluster::Impl& impl = cluster.impl();
  SiteReading site{
      .now = Clock::time_point(impl.jet_stream.time(impl.site.stream(Site::Kind::worker)))};
  for (const Site::Kind kind : kinds)
    for (const StoredMessage& message :
         impl.jet_stream.all(impl.site.stream(kind), impl.site.all(kind, {}))) {
      std::string id;
      try {
        id = last_name(message.subject);
        // A worker was seen when its heartbeat was stored.
        site.view.apply(kind, id, message.sequence, message.body, Clock::time_point(message.time));
      } catch (const ClusterError& error) {
        if (kind == Site::Kind::stream) site.invalid_streams[id] = error.what();
      }
    }
  return site;
}

}  // namespace

SiteReading read_site(Cluster& cluster) {
  return read_kinds(cluster,
                    {Site::Kind::worker, Site::Kind::order, Site::Kind::owner, Site::Kind::stream});
}

std::size_t slots_of_site(Cluster& cluster) {
  const SiteReading site = read_kinds(cluster, {Site::Kind::worker, Site::Kind::order});
  std::size_t slots = 0;
  for (const auto& [name, worker] : site.view.workers())
    if (site.view.is_alive(name, worker.message.session, site.now) && !site.view.is_draining(name))
      slots += worker.message.slots;
  return slots;
}

void restore_site(Cluster& cluster) noexcept {
  try {
    if (!cluster.answers(kAnswerWait)) return;
    Cluster::Impl& impl = cluster.impl();
    JetStream jet_stream(*impl.broker, without_patience(impl.settings));
    prepare_streams(jet_stream, impl.site, impl.settings.create_site, impl.settings.replicas);
  } catch (const std::exception& error) {
    log(LogLevel::debug, "cluster: the site is not made again: " + std::string(error.what()));
  }
}

}  // namespace vcap
