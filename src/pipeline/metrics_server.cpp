// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/metrics_server.hpp"

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/text_serializer.h>

#include "pipeline/http_listener.hpp"
#include "pipeline/http_server.hpp"
#include "pipeline/metric_families.hpp"

namespace vcap {
namespace {

std::map<std::string, PublisherStats> stats_of(const MetricsServer::Publishers& publishers) {
  std::map<std::string, PublisherStats> stats;
  for (const auto& [name, publisher] : publishers)
    if (const auto existing = publisher.lock()) stats.emplace(name, existing->stats());
  return stats;
}

/// A new snapshot, in Prometheus's text format.
std::string text_of(const Pipeline& pipeline, const MetricsServer::Publishers& publishers) {
  std::vector<prometheus::MetricFamily> families = metric_families(pipeline.stats());
  for (std::vector<prometheus::MetricFamily> more :
       {publisher_metric_families(stats_of(publishers)), process_metric_families()})
    std::move(more.begin(), more.end(), std::back_inserter(families));
  return prometheus::TextSerializer().Serialize(families);
}

HttpAnswer answer(const Pipeline& pipeline, const MetricsServer::Publishers& publishers,
                  const HttpRequest& request) {
  if (request.path != "/metrics") return {.status = 404, .text = "there is only /metrics\n"};
  return {.text = text_of(pipeline, publishers),
          .type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace

struct MetricsServer::Impl {
  Impl(const Pipeline& pipeline, const std::string& host_and_port, const ConnectionLimits& limits,
       Publishers publishers)
      : listener("metrics", host_and_port),
        server(listener.release(),
               make_read_handler(
                   [&pipeline, publishers = std::move(publishers)](const HttpRequest& request) {
                     return answer(pipeline, publishers, request);
                   }),
               {.limits = limits}) {}

  HttpListener listener;
  const HttpServer server;
};

MetricsServer::MetricsServer(const Pipeline& pipeline, const std::string& host_and_port,
                             const ConnectionLimits& limits, Publishers publishers) {
  limits.check();
  impl_ = std::make_unique<Impl>(pipeline, host_and_port, limits, std::move(publishers));
}

MetricsServer::~MetricsServer() = default;

std::uint16_t MetricsServer::port() const noexcept { return impl_->listener.port(); }

}  // namespace vcap
