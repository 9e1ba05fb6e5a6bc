// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <iosfwd>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/cluster/cluster_stream.hpp"
#include "vcap/cluster/job_list.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap::cli {

// What a cluster's commands show, as text and as JSON.

void write_text(std::ostream& out, const std::vector<ClusterStreamStatus>& streams);
void write_text(std::ostream& out, const std::vector<ClusterWorkerStatus>& workers);
void write_text(std::ostream& out, const std::vector<ClusterJobStatus>& jobs);
void write_text(std::ostream& out, const ClusterEvent& event);

nlohmann::json as_json(const std::vector<ClusterStreamStatus>& streams);
nlohmann::json as_json(const std::vector<ClusterWorkerStatus>& workers);
nlohmann::json as_json(const std::vector<ClusterJobStatus>& jobs);
nlohmann::json as_json(const ClusterEvent& event);

std::chrono::nanoseconds seconds_of(double seconds);

}  // namespace vcap::cli
