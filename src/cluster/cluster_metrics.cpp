// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_metrics.hpp"

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <nlohmann/json.hpp>

#include "pipeline/http_handler.hpp"
#include "pipeline/http_listener.hpp"
#include "pipeline/http_server.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/cluster_stream.hpp"
#include "vcap/cluster/job_list.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using MetricLabels = std::vector<ClientMetric::Label>;

/// Families by name.
class SiteFamilies {
 public:
  void add(const std::string& name, const std::string& help, MetricType type, MetricLabels labels,
           double value) {
    MetricFamily& family = families_[name];
    family.name = name;
    family.help = help;
    family.type = type;
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }
  std::string text() const {
    std::vector<MetricFamily> list;
    list.reserve(families_.size());
    for (const auto& [name, family] : families_) list.push_back(family);
    return prometheus::TextSerializer().Serialize(list);
  }

 private:
  std::map<std::string, MetricFamily> families_;
};

void add_workers(SiteFamilies& families, Cluster& cluster) {
  for (const ClusterWorkerStatus& worker : cluster_workers(cluster)) {
    const MetricLabels labels{{"worker", worker.name}};
    const bool is_alive = worker.state != ClusterWorkerStatus::State::ended &&
                          worker.state != ClusterWorkerStatus::State::dead;
    const auto gauge = [&](const char* name, const char* help, double value) {
      families.add(name, help, MetricType::Gauge, labels, value);
    };
    gauge("vcap_cluster_worker_up", "1 if the worker is alive", is_alive ? 1 : 0);
    gauge("vcap_cluster_worker_seen_seconds", "How long ago its last sign of life was",
          std::chrono::duration<double>(worker.seen).count());
    gauge("vcap_cluster_worker_capacity_cores", "How much load it takes", worker.capacity);
    gauge("vcap_cluster_worker_load_cores", "The load of its streams", worker.load);
    gauge("vcap_cluster_worker_streams", "Streams that it runs",
          static_cast<double>(worker.streams.size()));
    gauge("vcap_cluster_worker_unfit_streams", "Streams that it cannot run now",
          static_cast<double>(worker.unfit.size()));
    for (const auto& [name, value] : worker.statistics->items()) {
      if (!value.is_number() || name == "streams") continue;
      const bool is_now = name.ends_with("_waiting");
      families.add("vcap_cluster_" + name + (is_now ? "" : "_total"),
                   "A counter of each worker's process",
                   is_now ? MetricType::Gauge : MetricType::Counter, labels, value.get<double>());
    }
  }
}

void add_streams(SiteFamilies& families, Cluster& cluster) {
  for (const ClusterStreamStatus& stream : cluster_streams(cluster)) {
    const MetricLabels labels{{"stream", stream.id}};
    families.add("vcap_cluster_stream_running", "1 if a worker runs the stream", MetricType::Gauge,
                 labels, stream.state == ClusterStreamStatus::State::running ? 1 : 0);
    families.add(
        "vcap_cluster_stream_troubled", "1 if a worker runs the stream, but its camera is away",
        MetricType::Gauge, labels,
        stream.state == ClusterStreamStatus::State::running && !stream.reason.empty() ? 1 : 0);
    families.add("vcap_cluster_stream_epoch", "Counts the owners of the stream",
                 MetricType::Counter, labels, static_cast<double>(stream.epoch));
  }
}

void add_jobs(SiteFamilies& families, Cluster& cluster) {
  for (const ClusterJobStatus& job : cluster_jobs(cluster)) {
    const auto slices = [&](const char* state, std::size_t count) {
      families.add("vcap_cluster_job_slices", "Slices of a job by their states", MetricType::Gauge,
                   {{"job", job.id}, {"state", state}}, static_cast<double>(count));
    };
    slices("waiting", job.tasks.waiting);
    slices("in_progress", job.tasks.leased);
    slices("done", job.tasks.done);
    slices("given_up", job.tasks.given_up);
  }
}

HttpAnswer site_answer(Cluster& cluster, const HttpRequest& request) {
  if (request.path != "/metrics") return {.status = 404, .text = "there is only /metrics\n"};
  try {
    SiteFamilies families;
    add_workers(families, cluster);
    add_streams(families, cluster);
    add_jobs(families, cluster);
    return {.text = families.text(), .type = "text/plain; version=0.0.4; charset=utf-8"};
  } catch (const ClusterError& error) {
    return {.status = 503, .text = std::string(error.what()) + '\n'};
  }
}

}  // namespace

class ClusterMetricsServer::Impl {
 public:
  Impl(const std::shared_ptr<Cluster>& cluster, const std::string& host_and_port,
       const ConnectionLimits& limits)
      : listener_("metrics", host_and_port),
        server_(listener_.release(), make_read_handler([cluster](const HttpRequest& request) {
                  return site_answer(*cluster, request);
                }),
                {.limits = limits}) {}

  std::uint16_t port() const noexcept { return listener_.port(); }

 private:
  HttpListener listener_;
  const HttpServer server_;
};

ClusterMetricsServer::ClusterMetricsServer(const std::shared_ptr<Cluster>& cluster,
                                           const std::string& host_and_port,
                                           const ConnectionLimits& limits)
    : impl_((limits.check(), std::make_unique<Impl>(cluster, host_and_port, limits))) {}
ClusterMetricsServer::~ClusterMetricsServer() = default;
std::uint16_t ClusterMetricsServer::port() const noexcept { return impl_->port(); }

}  // namespace vcap
