// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/job_list.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/cluster_queue.hpp"
#include "cluster/job_message.hpp"
#include "cluster/remove_job.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

std::optional<std::chrono::nanoseconds> time_left(const JobMessage& job,
                                                  const TaskQueue::Counts& tasks,
                                                  std::chrono::nanoseconds now) {
  const std::uint64_t settled = tasks.done + tasks.given_up;
  if (job.state != JobMessage::State::running || settled <= job.settled_before) return std::nullopt;
  const auto each = std::chrono::duration<double>(now - job.submitted) /
                    static_cast<double>(settled - job.settled_before);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::max(each, std::chrono::duration<double>(0)) *
      static_cast<double>(tasks.waiting + tasks.leased));
}

}  // namespace

std::vector<ClusterJobStatus> cluster_jobs(Cluster& cluster) {
  const Site& site = cluster.impl().site;
  std::vector<ClusterJobStatus> jobs;
  for (const StoredMessage& message :
       cluster.impl().jet_stream.all(site.stream(Site::Kind::job), site.all(Site::Kind::job, {}))) {
    ClusterJobStatus status{.id = message.subject, .state = "invalid"};
    try {
      status.id = last_token(message.subject);
      const JobMessage job = read_job_message(message.body);
      if (job.state == JobMessage::State::ended) continue;
      status.state = to_string(job.state);
      status.name = job.name;
      status.submitted = job.submitted;
      status.priority = job.priority;
      status.videos = job.videos;
      status.tasks = ClusterQueue::counts_of(cluster.impl(), status.id);
      status.left = time_left(job, status.tasks,
                              cluster.impl().jet_stream.time(site.stream(Site::Kind::job)));
    } catch (const ClusterError& error) {
      if (error.code() != ErrorCode::invalid_message) throw;
      log(LogLevel::warning, "cluster: job " + quote(status.id) + ": " + error.what());
    }
    jobs.push_back(std::move(status));
  }
  std::ranges::sort(jobs, {}, &ClusterJobStatus::id);
  return jobs;
}

void cancel_cluster_job(Cluster& cluster, const std::string& id) {
  const std::vector<ClusterJobStatus> jobs = cluster_jobs(cluster);
  if (std::ranges::find(jobs, id, &ClusterJobStatus::id) == jobs.end())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "no job of site " + cluster.site() + " has the id " + quote(id));
  remove_job(cluster, id);
}

}  // namespace vcap
