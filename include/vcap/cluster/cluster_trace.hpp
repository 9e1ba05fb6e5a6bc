// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap {

/// What all machines of a site have done for one job or one stream, as a trace for
/// https://ui.perfetto.dev (Trace Event Format): a JSON object to be written to a file. `id`: the
/// job's or the stream's; each event of the trace has it as the argument `trace`.
///
/// Workers and clients are its processes. Each attempt on a slice is a span, with its parts: open
/// the video, run, store. Each time that a worker owns a stream is one, from its claim to its end,
/// or to the takeover if it has died. Arrows go from one attempt on a slice, or one owner of a
/// stream, to the next. Other events are instants. Times are microseconds since the first event, by
/// the broker's clock, so the machines' clocks need not agree.
///
/// It is made of the site's events, which the site keeps for a week, or as its configuration says.
/// Throws InvalidArgument if there is none with that id; ClusterError. Thread-safe.
VCAP_EXPORT JsonValue cluster_trace(const std::shared_ptr<Cluster>& cluster, const std::string& id);

}  // namespace vcap
