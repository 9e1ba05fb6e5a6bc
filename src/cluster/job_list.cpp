// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/job_list.hpp"

#include <algorithm>
#include <memory>

#include "base/text.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/cluster_queue.hpp"
#include "cluster/job_message.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

std::vector<ClusterJobStatus> cluster_jobs(Cluster& cluster) {
  const Site& site = cluster.impl().site;
  std::vector<ClusterJobStatus> jobs;
  for (const StoredMessage& message :
       cluster.impl().jet_stream.all(site.stream(Site::Kind::job), site.all(Site::Kind::job, {}))) {
    const JobMessage job = read_job_message(message.body);
    const std::string id = last_token(message.subject);
    jobs.push_back({.id = id,
                    .state = std::string(to_string(job.state)),
                    .priority = job.priority,
                    .videos = job.videos,
                    .tasks = ClusterQueue::counts_of(cluster.impl(), id)});
  }
  std::ranges::sort(jobs, {}, &ClusterJobStatus::id);
  return jobs;
}

void cancel_cluster_job(Cluster& cluster, const std::string& id) {
  const Site& site = cluster.impl().site;
  const std::string subject = site.subject(Site::Kind::job, {id});
  for (;;) {
    const auto message = cluster.impl().jet_stream.last(site.stream(Site::Kind::job), subject);
    if (!message)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "no job of site " + site.name() + " has the id " + quote(id));
    JobMessage job = read_job_message(message->body);
    job.state = JobMessage::State::ended;
    if (cluster.impl().jet_stream.store(subject, to_message(job), message->sequence)) return;
  }
}

}  // namespace vcap
