// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

#include "vcap/observe/pipeline_stats.hpp"

namespace vcap {

/// The numbers as Prometheus names and shapes them: base units, `_total` for what only grows.
std::vector<prometheus::MetricFamily> metric_families(const PipelineStats& stats);

/// Of this process, as Prometheus' other clients name them, without what /proc does not tell.
std::vector<prometheus::MetricFamily> process_metric_families();

}  // namespace vcap
