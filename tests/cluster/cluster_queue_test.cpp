// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_queue.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster_queue.hpp"
#include "cluster/nats_server.hpp"
#include "jobs/task_queue_conformance.hpp"

namespace vcap::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// One server and one connection for all queues of this process, each with a name of its own.
std::unique_ptr<TaskQueue> make_queue(TaskQueue::Settings settings) {
  static const NatsServer server;
  static const std::shared_ptr<Cluster> cluster = Cluster::connect(server.settings());
  static std::atomic<int> queues{0};
  return make_cluster_queue(cluster, "queue " + std::to_string(++queues), std::move(settings));
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Cluster, TaskQueueConformance,
                         testing::Values(QueueKind{"cluster", &make_queue,
                                                   kUnderSanitizer ? 30 : 150}));

namespace {

class ClusterQueueTest : public testing::Test {
 protected:
  std::unique_ptr<ClusterQueue> open(const std::shared_ptr<Cluster>& cluster,
                                     int max_attempts = 3) const {
    return std::make_unique<ClusterQueue>(
        cluster, "q", TaskQueue::Settings{.max_attempts = max_attempts, .clock = clock_});
  }
  std::shared_ptr<Cluster> connect() const { return Cluster::connect(server_.settings()); }

  NatsServer server_;
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
};

TEST_F(ClusterQueueTest, IsSharedByAllWhoNameIt) {
  const auto mine = open(connect());
  const auto other = open(connect());
  ASSERT_TRUE(mine->put("a", 1));
  EXPECT_FALSE(other->put("a", 2));
  std::optional<TaskQueue::Lease> lease;
  std::jthread worker([&] { lease = other->lease(seconds(10), {}); });
  worker.join();
  EXPECT_EQ(lease->payload, 1);
  EXPECT_FALSE(mine->try_lease(seconds(10)));
  EXPECT_TRUE(mine->renew(*lease, seconds(20)));
  std::jthread waiting([&] { EXPECT_TRUE(mine->wait_until_settled({})); });
  EXPECT_TRUE(other->complete(*lease, "done"));
  waiting.join();
  EXPECT_EQ(mine->result("a"), "done");
  remove_cluster_queue(*connect(), "q");
  EXPECT_EQ(mine->counts(), TaskQueue::Counts{});
}

TEST_F(ClusterQueueTest, WakesAWorkerElsewhereWhenALeaseRunsOut) {
  const auto mine = open(connect());
  const auto other = open(connect());
  ASSERT_TRUE(mine->put("a", 1));
  ASSERT_TRUE(mine->try_lease(seconds(10)));
  std::optional<TaskQueue::Lease> lease;
  std::jthread worker([&] { lease = other->lease(seconds(10), {}); });
  clock_->await_sleeper(clock_->now() + seconds(10));
  clock_->advance(seconds(10));
  worker.join();
  EXPECT_EQ(lease->attempt, 2);
}

TEST_F(ClusterQueueTest, PutsManyTasksInTheirOrder) {
  const auto queue = open(connect());
  std::vector<TaskQueue::NewTask> tasks;
  for (int i = 0; i < 10'000; ++i) tasks.push_back({"task " + std::to_string(i), i});
  EXPECT_EQ(queue->put_all(tasks), 10'000u);
  tasks.push_back({"one more", "x"});
  EXPECT_EQ(queue->put_all(tasks), 1u);
  EXPECT_EQ(queue->counts().waiting, 10'001u);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(queue->try_lease(seconds(10))->task, "task " + std::to_string(i));
}

TEST_F(ClusterQueueTest, GoesOnWhenItsServerIsKilledAndStartedAgain) {
  const auto queue = open(connect());
  ASSERT_TRUE(queue->put("a", 1));
  ASSERT_TRUE(queue->put("b", 2));
  const auto first = queue->try_lease(seconds(10));
  server_.kill();
  std::jthread again([this] { server_.start(); });
  EXPECT_TRUE(queue->complete(*first, "done"));
  std::optional<TaskQueue::Lease> second;
  std::jthread worker([&] { second = queue->lease(seconds(10), {}); });
  worker.join();
  EXPECT_EQ(second->task, "b");
  EXPECT_EQ(queue->counts(), (TaskQueue::Counts{.leased = 1, .done = 1}));
}

TEST_F(ClusterQueueTest, MakesAConsumerThatIsGoneAnew) {
  const auto cluster = connect();
  const auto queue = open(cluster);
  std::optional<TaskQueue::Lease> lease;
  std::jthread worker([&] { lease = queue->lease(seconds(10), {}); });
  Cluster::Impl& impl = cluster->impl();
  const std::string stream = impl.site.stream(Site::Kind::task);
  impl.jet_stream.ask("CONSUMER.DELETE." + stream + ".queue-q", nullptr);
  ASSERT_TRUE(queue->put("a", 1));
  worker.join();  // within 30 s
  EXPECT_EQ(lease->task, "a");
}

TEST_F(ClusterQueueTest, TakesAResultBack) {
  const auto cluster = connect();
  const auto queue = open(cluster, 2);
  ASSERT_TRUE(queue->put("a", 1));
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const auto lease = queue->try_lease(seconds(10));
    EXPECT_EQ(lease->attempt, attempt);
    EXPECT_TRUE(queue->complete(*lease, "unusable"));
    const auto message = cluster->impl().jet_stream.last(
        cluster->impl().site.stream(Site::Kind::settled),
        cluster->impl().site.subject(Site::Kind::settled, {"q", "a"}));
    queue->refuse_result("a", message->sequence + 1, "another one");  // changes nothing
    queue->refuse_result("a", message->sequence, "cannot be used");
  }
  EXPECT_EQ(queue->counts(), TaskQueue::Counts{.given_up = 1});
  EXPECT_THAT(queue->failures().at(0).reasons, ElementsAre("cannot be used", "cannot be used"));
  queue->revive();
  EXPECT_EQ(queue->counts(), TaskQueue::Counts{.waiting = 1});
  EXPECT_EQ(queue->try_lease(seconds(10))->attempt, 1);
}

TEST_F(ClusterQueueTest, LeavesAnAttemptToOthers) {
  const auto mine = open(connect());
  const auto other = open(connect());
  ASSERT_TRUE(mine->put("a", 1));
  EXPECT_TRUE(mine->fail(*mine->try_lease(seconds(10)), "no video here"));
  mine->avoid("a", clock_->now() + seconds(5));
  EXPECT_FALSE(mine->try_lease(seconds(10)));
  yield_until("the other to know", [&] { return other->try_lease(seconds(1)).has_value(); });
  clock_->advance(seconds(5));
  std::optional<TaskQueue::Lease> lease;  // soon: it may not know of the other's lease yet
  yield_until("another attempt",
              [&] { return (lease = mine->try_lease(seconds(10))).has_value(); });
  EXPECT_EQ(lease->attempt, 3);
}

TEST_F(ClusterQueueTest, IgnoresMessagesThatAreNotValid) {
  const auto cluster = connect();
  const auto queue = open(cluster);
  JetStream& jet_stream = cluster->impl().jet_stream;
  const Site& site = cluster->impl().site;
  ASSERT_TRUE(queue->put("a", 1));
  ASSERT_TRUE(jet_stream.store(site.subject(Site::Kind::settled, {"q", "a"}),
                               R"({"schema":"vcap.settled/1","outcome":5})"));
  ASSERT_TRUE(jet_stream.store(site.subject(Site::Kind::lease, {"q", "a"}), "garbage"));
  ASSERT_TRUE(jet_stream.store(site.subject(Site::Kind::lease, {"q"}) + ".=ZZ", "{}"));
  for (const char* const kind : {"lease", "settled"})
    jet_stream.broker().publish(
        {.subject = "vcap.test.note." + std::string(kind) + ".q.=ZZ", .body = "x"});
  const auto other = open(cluster);  // it reads them all
  const auto lease = queue->try_lease(seconds(10));
  ASSERT_TRUE(lease);
  EXPECT_TRUE(queue->complete(*lease, "done"));
  EXPECT_EQ(other->result("a"), "done");
  EXPECT_EQ(queue->counts(), TaskQueue::Counts{.done = 1});
  EXPECT_THAT(queue->failures(), IsEmpty());
}

TEST_F(ClusterQueueTest, LeasesNoTaskThatTheBrokerHasLost) {
  const auto cluster = connect();
  const auto queue = open(cluster);
  ASSERT_TRUE(queue->put("a", 1));
  const auto first = queue->try_lease(seconds(10));
  ASSERT_TRUE(queue->release(*first));
  Cluster::Impl& impl = cluster->impl();
  impl.jet_stream.purge(impl.site.stream(Site::Kind::task),
                        impl.site.subject(Site::Kind::task, {"q", "a"}));
  EXPECT_FALSE(queue->try_lease(seconds(10)));
  EXPECT_EQ(queue->counts(), TaskQueue::Counts{});
  ASSERT_TRUE(queue->put("a", 2));
  const auto second = queue->lease(seconds(10), {});
  EXPECT_EQ(second->payload, 2);
  EXPECT_EQ(second->attempt, 1);
}

TEST_F(ClusterQueueTest, RemovesALeaseOnlyOnce) {
  const auto cluster = connect();
  JetStream& jet_stream = cluster->impl().jet_stream;
  const Site& site = cluster->impl().site;
  const std::string subject = site.subject(Site::Kind::lease, {"q", "a"});
  const auto first = jet_stream.store(subject, "1");
  const auto second = jet_stream.store(subject, "2");  // in place of the first
  const std::string stream = site.stream(Site::Kind::lease);
  EXPECT_FALSE(jet_stream.erase(stream, *first));
  EXPECT_TRUE(jet_stream.erase(stream, *second));
  EXPECT_FALSE(jet_stream.erase(stream, *second));
  EXPECT_FALSE(jet_stream.erase(stream, *second + 7));
}

TEST_F(ClusterQueueTest, SaysThatTheBrokerDoesNotAnswer) {
  ClusterSettings settings = server_.settings();
  settings.timeout = std::chrono::milliseconds(100);
  settings.patience = std::chrono::milliseconds(300);
  const auto queue = open(Cluster::connect(settings));
  server_.hang();
  const auto unreachable = ThrowsError<ClusterError>(ErrorCode::broker_unreachable, HasSubstr(""));
  EXPECT_THAT([&] { queue->put("a", 1); }, unreachable);
  EXPECT_THAT([&] { queue->try_lease(seconds(1)); }, unreachable);
  EXPECT_THAT([&] { queue->counts(); }, unreachable);
  server_.resume();
  yield_until("an answer", [&] {
    try {
      queue->put("a", 1);
      return true;
    } catch (const ClusterError&) {
      return false;
    }
  });
  EXPECT_THAT(queue->try_lease(seconds(1)), testing::Ne(std::nullopt));
}

}  // namespace
}  // namespace vcap::test
