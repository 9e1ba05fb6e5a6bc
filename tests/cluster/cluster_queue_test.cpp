// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_queue.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <string>

#include "cluster/nats_server.hpp"
#include "jobs/task_queue_conformance.hpp"

namespace vcap::test {
namespace {

/// One server and one connection for all queues of this process, each with a name of its own.
std::unique_ptr<TaskQueue> make_queue(TaskQueue::Settings settings) {
  static const NatsServer server;
  static const std::shared_ptr<Cluster> cluster = Cluster::connect(server.settings());
  static std::atomic<int> queues{0};
  return make_cluster_queue(cluster, "queue " + std::to_string(++queues), std::move(settings));
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Cluster, TaskQueueConformance,
                         testing::Values(QueueKind{"cluster", &make_queue, 150}));

}  // namespace vcap::test
