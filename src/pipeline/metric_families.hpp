// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "vcap/observe/pipeline_stats.hpp"
#include "vcap/records/publisher.hpp"

namespace vcap {

/// The metrics in Prometheus's form: its naming rules, base units, `_total` for counters.
std::vector<prometheus::MetricFamily> metric_families(const PipelineStats& stats);

/// The metrics of publishers, by name.
std::vector<prometheus::MetricFamily> publisher_metric_families(
    const std::map<std::string, PublisherStats>& publishers);

/// Metrics of this process, named as other Prometheus clients do. What /proc does not provide is
/// left out.
std::vector<prometheus::MetricFamily> process_metric_families();

}  // namespace vcap
