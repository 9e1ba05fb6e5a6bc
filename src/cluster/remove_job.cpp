// SPDX-License-Identifier: Apache-2.0
#include "cluster/remove_job.hpp"

#include <memory>

#include "cluster/cluster_impl.hpp"
#include "cluster/cluster_queue.hpp"
#include "cluster/job_message.hpp"
#include "cluster/object_store.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

void remove_job(Cluster& cluster, const std::string& id) {
  JetStream& jet_stream = cluster.impl().jet_stream;
  const Site& site = cluster.impl().site;
  const std::string subject = site.subject(Site::Kind::job, {id});
  std::string shared;
  if (const auto message = jet_stream.last(site.stream(Site::Kind::job), subject)) {
    try {
      JobMessage job = read_job_message(message->body);
      shared = job.shared;
      job.state = JobMessage::State::ended;
      jet_stream.store(subject, to_message(job));
    } catch (const ClusterError& error) {
      if (error.code() != ErrorCode::invalid_message) throw;  // it is only removed
    }
  }
  ClusterQueue::remove(cluster.impl(), id);
  jet_stream.purge(site.stream(Site::Kind::plan), site.all(Site::Kind::plan, {id}));
  const std::string objects = "job/" + id + '/';
  make_broker_store(jet_stream, site)->remove(objects);
  try {
    if (!shared.empty()) make_folder_store(shared)->remove(objects);
  } catch (const OutputError& error) {  // this machine may not see the folder
    log(LogLevel::warning, "cluster: files of job " + id + " stay: " + error.what());
  }
  jet_stream.purge(site.stream(Site::Kind::job), subject);
}

}  // namespace vcap
