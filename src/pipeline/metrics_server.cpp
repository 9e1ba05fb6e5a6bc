// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/metrics_server.hpp"

#include <iterator>
#include <utility>
#include <vector>

#include <prometheus/text_serializer.h>

#include "pipeline/http_listener.hpp"
#include "pipeline/http_server.hpp"
#include "pipeline/metric_families.hpp"

namespace vcap {
namespace {

/// A new snapshot, in Prometheus's text format.
std::string text_of(const Pipeline& pipeline) {
  std::vector<prometheus::MetricFamily> families = metric_families(pipeline.stats());
  std::vector<prometheus::MetricFamily> process = process_metric_families();
  std::move(process.begin(), process.end(), std::back_inserter(families));
  return prometheus::TextSerializer().Serialize(families);
}

HttpAnswer answer(const Pipeline& pipeline, const HttpRequest& request) {
  if (request.path != "/metrics") return {.status = 404, .text = "there is only /metrics\n"};
  return {.text = text_of(pipeline), .type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace

struct MetricsServer::Impl {
  Impl(const Pipeline& pipeline, const std::string& host_and_port, const ConnectionLimits& limits)
      : listener("metrics", host_and_port),
        server(listener.release(), make_read_handler([&pipeline](const HttpRequest& request) {
                 return answer(pipeline, request);
               }),
               {.limits = limits}) {}

  HttpListener listener;
  const HttpServer server;
};

MetricsServer::MetricsServer(const Pipeline& pipeline, const std::string& host_and_port,
                             const ConnectionLimits& limits) {
  limits.check();
  impl_ = std::make_unique<Impl>(pipeline, host_and_port, limits);
}

MetricsServer::~MetricsServer() = default;

std::uint16_t MetricsServer::port() const noexcept { return impl_->listener.port(); }

}  // namespace vcap
