// SPDX-License-Identifier: Apache-2.0
#include "cluster/unused_capsules.hpp"

#include <cstdint>

#include "cluster/job_message.hpp"
#include "cluster/object_store.hpp"
#include "cluster/stream_message.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The capsules that a message of a job or a stream needs.
std::set<std::string> needed_by(Site::Kind kind, const std::string& message) {
  std::set<std::string> objects;
  if (kind == Site::Kind::job) {
    const JobMessage job = read_job_message(message);
    if (job.state == JobMessage::State::ended) return objects;
    for (const JobMessage::CapsuleObject& capsule : job.capsules)
      objects.insert(capsule.object.name);
  } else {
    const StreamMessage stream = read_stream_message(message);
    if (stream.is_removed) return objects;
    for (const StreamMessage::CapsuleObject& capsule : stream.capsules)
      objects.insert(capsule.object.name);
  }
  return objects;
}

}  // namespace

void remove_unused_capsules(JetStream& jet_stream, const Site& site,
                            std::set<std::string> objects) {
  for (const Site::Kind kind : {Site::Kind::job, Site::Kind::stream}) {
    if (objects.empty()) return;
    // A server that has lost its disk, and is catching up, gives fewer than there are.
    const std::uint64_t there =
        jet_stream.demand("STREAM.INFO." + site.stream(kind), nullptr).at("state").at("messages");
    const auto messages = jet_stream.all(site.stream(kind), site.all(kind, {}));
    if (messages.size() < there) return;  // the next one removes them
    for (const StoredMessage& message : messages) {
      try {
        for (const std::string& needed : needed_by(kind, message.body)) objects.erase(needed);
      } catch (const ClusterError& error) {
        if (error.code() != ErrorCode::invalid_message) throw;  // who reads it says so
      }
    }
  }
  const auto store = make_broker_store(jet_stream, site);
  for (const std::string& object : objects) store->erase(object);
}

}  // namespace vcap
