// SPDX-License-Identifier: Apache-2.0
#include "cluster/remove_job.hpp"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "cluster/cluster_impl.hpp"
#include "cluster/cluster_queue.hpp"
#include "cluster/job_message.hpp"
#include "cluster/object_store.hpp"
#include "cluster/task_consumer.hpp"
#include "cluster/unused_capsules.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

namespace {

/// Processes that still know an ended job find its message for so long.
constexpr std::chrono::hours kKept{1};

/// Removes the messages of jobs that ended long ago.
void forget_old_jobs(JetStream& jet_stream, const Site& site, std::chrono::nanoseconds now) {
  for (const StoredMessage& message :
       jet_stream.all(site.stream(Site::Kind::job), site.all(Site::Kind::job, {}))) {
    try {
      const JobMessage job = read_job_message(message.body);
      if (job.state != JobMessage::State::ended || now - job.ended < kKept) continue;
      // A worker that noticed the end late may have made the consumer anew.
      TaskConsumer::remove(jet_stream, site, last_token(message.subject));
    } catch (const ClusterError& error) {
      if (error.code() != ErrorCode::invalid_message) throw;
      continue;  // somebody should look at it
    }
    jet_stream.erase(site.stream(Site::Kind::job), message.sequence);
  }
}

}  // namespace

void remove_job(Cluster& cluster, const std::string& id) {
  JetStream& jet_stream = cluster.impl().jet_stream;
  const Site& site = cluster.impl().site;
  const std::string stream = site.stream(Site::Kind::job);
  const std::string subject = site.subject(Site::Kind::job, {id});
  const std::chrono::nanoseconds now = jet_stream.time(stream);
  std::string shared;
  std::set<std::string> capsules;
  if (const auto message = jet_stream.last(stream, subject)) {
    try {
      JobMessage job = read_job_message(message->body);
      shared = job.shared;
      for (const JobMessage::CapsuleObject& capsule : job.capsules)
        capsules.insert(capsule.object.name);
      job.state = JobMessage::State::ended;
      job.ended = now;
      jet_stream.store(subject, to_message(job));
    } catch (const ClusterError& error) {
      if (error.code() != ErrorCode::invalid_message) throw;
      jet_stream.erase(stream, message->sequence);
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
  remove_unused_capsules(jet_stream, site, std::move(capsules));
  forget_old_jobs(jet_stream, site, now);
}

}  // namespace vcap
