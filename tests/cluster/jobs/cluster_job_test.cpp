// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_job.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cluster/cluster_impl.hpp"
#include "cluster/jobs/site_fixture.hpp"
#include "vcap/cluster/job_list.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ClusterJobTest : public SiteTest {
 protected:
  /// Files of records that worker 1 is writing, or has left.
  std::size_t files_of_worker() const {
    std::size_t count = 0;
    std::error_code ignored;
    for (std::filesystem::recursive_directory_iterator
             at(folder_ / "worker1" / "worker-0" / "work", ignored),
         end;
         at != end; at.increment(ignored))
      count += at->path().filename().native().find("records") != std::string::npos;
    return count;
  }

  /// The jobs of the slices that have been done so far, in their order.
  static std::vector<std::string> jobs_of_slices(const std::shared_ptr<Cluster>& cluster) {
    std::vector<std::string> order;
    ClusterEventReader events(cluster);
    while (events.has_more())
      for (const ClusterEvent& event : events.next(milliseconds(1'000)))
        if (event.event == "slice done") order.push_back(event.details["job"]);
    return order;
  }

  const Json kPlain = Json::object();
};

TEST_F(ClusterJobTest, GivesTheOutputsOfOneProcess) {
  clip("a.mp4", 90);
  clip("b.mkv", 200);
  const auto first = worker(1);
  const auto second = worker(2);
  const Json sliced = {{"slices", 5}};
  const Result result = vcap(on_cluster({"run", job("out", kPlain, sliced)}));
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("videos done      2"));
  const Outputs expected = outputs_of_one_process(kPlain, sliced);
  EXPECT_EQ(expected.size(), 4u);
  EXPECT_TRUE(outputs_in(folder_ / "out") == expected);
}

TEST_F(ClusterJobTest, LeavesNothingOfADoneJobInTheBroker) {
  clip("a.mp4", 40);
  const auto one = worker(1);
  const Result result = vcap(on_cluster({"run", job("out")}));
  ASSERT_EQ(result.exit_code, 0) << result;
  const auto cluster = Cluster::connect({.url = server_.url()});
  EXPECT_THAT(cluster_jobs(*cluster), IsEmpty());
  Cluster::Impl& impl = cluster->impl();
  for (const auto kind :
       {Site::Kind::task, Site::Kind::lease, Site::Kind::settled, Site::Kind::plan})
    EXPECT_EQ(impl.jet_stream.count(impl.site.stream(kind), {}), 0u) << impl.site.stream(kind);
  EXPECT_EQ(impl.jet_stream.count("OBJ_" + impl.site.bucket(), {}), 0u);
}

TEST_F(ClusterJobTest, SendsClipsThroughASharedFolderOnly) {
  clip("a.mp4", 60);
  const Json with_clips = {{"outputs", {{"folder", "out"}, {"video", true}}}};
  Result result = vcap(on_cluster({"run", job("out", kPlain, with_clips)}));
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("shared"));
  const auto one = worker(1);
  result = vcap(on_cluster(
      {"run", job("out", kPlain, with_clips), "--shared", (folder_ / "shared").string()}));
  EXPECT_EQ(result.exit_code, 0) << result;
  const Outputs expected =
      outputs_of_one_process(kPlain, {{"outputs", {{"folder", "alone"}, {"video", true}}}});
  EXPECT_EQ(expected.size(), 2u);
  EXPECT_TRUE(outputs_in(folder_ / "out") == expected);
}

TEST_F(ClusterJobTest, GoesOnAfterEitherSideWasKilled) {
  for (const char* const name : {"a.mp4", "b.mp4", "c.mp4"}) clip(name, 120);
  const Json slow = {{"delay_us", 4'000}};
  const Json sliced = {{"slices", 6}};
  const std::vector<std::string> run = on_cluster({"run", job("out", slow, sliced)});
  std::vector<std::unique_ptr<Command>> workers;
  for (int i = 0; i < 2; ++i) workers.push_back(worker(i, {"--lease", "1"}));
  auto client = std::make_unique<Command>(run);
  std::mt19937 dice(7);
  for (int round = 0; round < 8; ++round) {
    std::this_thread::sleep_for(milliseconds(100 + dice() % 200));
    const std::size_t victim = dice() % 4;
    if (victim < 2) {
      workers[victim]->send(SIGKILL);
      workers[victim] = worker(static_cast<int>(victim), {"--lease", "1"});
    } else if (victim == 2) {
      client->send(SIGKILL);
      client = std::make_unique<Command>(run);
    } else {
      server_.kill();
      server_.start();
    }
  }
  const Result result = client->wait();
  EXPECT_EQ(result.exit_code, 0) << result << workers[0]->err() << workers[1]->err();
  EXPECT_TRUE(outputs_in(folder_ / "out") == outputs_of_one_process(slow, sliced));
}

TEST_F(ClusterJobTest, PausesOnRequestAndGoesOnLater) {
  clip("a.mp4", 200);
  const Json slow = {{"delay_us", 15'000}};
  const Json sliced = {{"slices", 20}};
  const auto one = worker(1);
  const std::vector<std::string> run = on_cluster({"run", job("out", slow, sliced)});
  Command first(run);
  const auto cluster = Cluster::connect({.url = server_.url()});
  std::optional<std::chrono::nanoseconds> left;
  try {
    yield_until("a slice to be done", [&] {
      const auto jobs = cluster_jobs(*cluster);
      if (jobs.empty() || jobs.front().tasks.done == 0) return false;
      left = jobs.front().left;
      return true;
    });
  } catch (const std::exception& error) {
    FAIL() << error.what() << "\nclient: " << first.err() << "\nworker: " << one->err();
  }
  ASSERT_TRUE(left);
  EXPECT_GT(*left, milliseconds(100)) << "of 20 slices of 150 ms";
  first.send(SIGINT);
  const Result stopped = first.wait();
  EXPECT_EQ(stopped.exit_code, 1) << stopped;
  EXPECT_THAT(stopped.out, HasSubstr("left             1"));
  EXPECT_EQ(cluster_jobs(*cluster).at(0).state, "paused");
  const Result result = vcap(run);
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_TRUE(outputs_in(folder_ / "out") == outputs_of_one_process(slow, sliced));
}

TEST_F(ClusterJobTest, GoesOnWhileWorkersAndClientAreReplacedByThoseOfAnotherVersion) {
  for (const char* const name : {"a.mp4", "b.mp4"}) clip(name, 120);
  const Json slow = {{"delay_us", 6'000}};
  const Json sliced = {{"slices", 10}};
  const std::vector<std::string> run = on_cluster({"run", job("out", slow, sliced)});
  std::vector<std::unique_ptr<Command>> workers;
  for (int i = 0; i < 2; ++i) workers.push_back(worker(i, {}, old_command()));
  Command client(run, {.program = old_command()});
  const auto cluster = Cluster::connect({.url = server_.url()});
  yield_until("a slice to be done", [&] {
    const auto jobs = cluster_jobs(*cluster);
    return !jobs.empty() && jobs.front().tasks.done > 0;
  });
  for (int i = 0; i < 2; ++i) {
    auto next = worker(i + 2);
    ASSERT_TRUE(next->wait_for_err("works for site"));
    workers[static_cast<std::size_t>(i)]->send(SIGTERM);
    const Result ended = workers[static_cast<std::size_t>(i)]->wait();
    EXPECT_EQ(ended.exit_code, 0) << ended;
    workers[static_cast<std::size_t>(i)] = std::move(next);
  }
  client.send(SIGINT);  // the one who submitted it is replaced at last
  const Result stopped = client.wait();
  EXPECT_NE(stopped.exit_code, 0) << "all was done before: " << stopped;
  const Result result = vcap(run);
  EXPECT_EQ(result.exit_code, 0) << result << workers[0]->err() << workers[1]->err();
  EXPECT_TRUE(outputs_in(folder_ / "out") == outputs_of_one_process(slow, sliced));
  for (const ClusterWorkerStatus& worker : cluster_workers(*cluster)) {
    EXPECT_EQ(worker.statistics["slice_attempts_failed"], 0) << worker.name;
    EXPECT_EQ(worker.statistics["invalid_job_messages"], 0) << worker.name;
  }
}

TEST_F(ClusterJobTest, PutsSlicesAgainThatTheBrokerHasLost) {
  clip("a.mp4", 40);
  clip("b.mp4", 40);
  Command run(on_cluster({"run", job("out")}));
  const auto client = Cluster::connect({.url = server_.url()});
  JetStream& jet_stream = client->impl().jet_stream;
  const Site& site = client->impl().site;
  const std::string stream = site.stream(Site::Kind::task);
  yield_until("the tasks", [&] {
    std::this_thread::sleep_for(milliseconds(20));
    return client->answers(milliseconds(500)) && jet_stream.count(stream, {}) == 2;
  });
  EXPECT_TRUE(jet_stream.erase(stream, jet_stream.last_sequence(stream)));
  const auto worker1 = worker(1);
  const Result result = run.wait();
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("the broker has lost 1 slice; put again"));
  EXPECT_TRUE(outputs_in(folder_ / "out") == outputs_of_one_process());
}

TEST_F(ClusterJobTest, SetsASliceAsideThatEndsItsWorkers) {
  clip("bad.mp4", 60);
  const Json ends = {{"abort_at", 30}};
  Command client(on_cluster({"run", job("out", ends, {{"attempts", 2}})}));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result ended = worker(1, {"--lease", "1"})->wait();
    EXPECT_EQ(ended.exit_code, 10);
    EXPECT_THAT(ended.err, HasSubstr("capsule steady ended the process"));
  }
  const auto other = worker(2, {"--lease", "1"});  // it notices that the lease has run out
  const Result result = client.wait();
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.out, HasSubstr("failed           1"));
  EXPECT_THAT(result.out, HasSubstr("attempt 2: the lease ran out"));
}

TEST_F(ClusterJobTest, AWorkerWithAFullDiskLeavesASliceToOthers) {
  clip("a.mp4", 60);
  Command client(on_cluster({"run", job("out", {{"delay_us", 10'000}}, {{"attempts", 2}})}));
  const auto full = worker(1);
  yield_until("a slice to be begun", [&] { return files_of_worker() == 1; });
  full->limit_file_size(0);
  ASSERT_TRUE(full->wait_for_err("attempt 1 failed"));
  const auto other = worker(2);
  const Result result = client.wait();
  EXPECT_EQ(result.exit_code, 0) << result << full->err();
}

TEST_F(ClusterJobTest, RemovesWhatAKilledWorkerWasWriting) {
  clip("a.mp4", 60);
  const Command client(on_cluster({"run", job("out", {{"delay_us", 100'000}})}));
  auto killed = worker(1);
  yield_until("a slice to be begun", [&] { return files_of_worker() == 1; });
  killed->send(SIGKILL);
  killed->wait();
  EXPECT_EQ(files_of_worker(), 1u);
  const auto next = worker(1);
  yield_until("the files to be removed", [&] { return files_of_worker() == 0; });
}

TEST_F(ClusterJobTest, EndsSoonAfterCtrlCIfTheBrokerHangs) {
  clip("a.mp4", 60);
  Command client(on_cluster({"run", job("out"), "--grace", "60"}));
  const auto cluster = Cluster::connect({.url = server_.url()});
  yield_until("a job", [&] { return !cluster_jobs(*cluster).empty(); });
  server_.hang();
  client.send(SIGINT);
  const auto begin = std::chrono::steady_clock::now();
  const Result result = client.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.out, HasSubstr("left             1"));
  server_.resume();
}

TEST_F(ClusterJobTest, EndsForEveryoneWhenItIsCancelled) {
  clip("a.mp4", 60);
  Command client(on_cluster({"run", job("out")}));
  const auto cluster = Cluster::connect({.url = server_.url()});
  yield_until("a job", [&] { return !cluster_jobs(*cluster).empty(); });
  const std::string id = cluster_jobs(*cluster).front().id;
  EXPECT_EQ(vcap({"cluster", "cancel", id, "--nats", server_.url()}).exit_code, 0);
  const Result result = client.wait();
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(cluster_jobs(*cluster), IsEmpty());
  const Result again = vcap({"cluster", "cancel", id, "--nats", server_.url()});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr(id));
}

TEST_F(ClusterJobTest, DoesAJobOfHigherPriorityFirst) {
  clip("a.mp4", 60);
  const Json sliced = {{"slices", 4}};
  const Json slow = {{"delay_us", 10'000}};
  Command low(on_cluster({"run", job("low", slow, sliced)}));
  const auto cluster = Cluster::connect({.url = server_.url()});
  yield_until("one job", [&] { return cluster_jobs(*cluster).size() == 1; });
  Command high(on_cluster({"run", job("high", slow, sliced), "--priority", "5"}));
  yield_until("two jobs", [&] { return cluster_jobs(*cluster).size() == 2; });
  const auto jobs = cluster_jobs(*cluster);
  const std::string first = std::ranges::find(jobs, 5, &ClusterJobStatus::priority)->id;
  const auto one = worker(1);
  EXPECT_EQ(high.wait().exit_code, 0);
  EXPECT_EQ(low.wait().exit_code, 0);
  const std::vector<std::string> order = jobs_of_slices(cluster);
  ASSERT_EQ(order.size(), 8u);
  // Perhaps one of the other before the worker had read of this one.
  const auto begin = std::ranges::find(order, first);
  EXPECT_LE(begin - order.begin(), 1);
  EXPECT_EQ(std::count(begin, begin + 4, first), 4);
}

TEST_F(ClusterJobTest, SharesASlotBetweenJobsOfOnePriority) {
  clip("a.mp4", 120);
  const Json sliced = {{"slices", 8}};
  const Json slow = {{"delay_us", 5'000}};
  Command early(on_cluster({"run", job("early", slow, sliced)}));
  const auto cluster = Cluster::connect({.url = server_.url()});
  yield_until("one job", [&] { return cluster_jobs(*cluster).size() == 1; });
  Command late(on_cluster({"run", job("late", slow, sliced)}));
  yield_until("two jobs", [&] { return cluster_jobs(*cluster).size() == 2; });
  const auto one = worker(1);
  EXPECT_EQ(early.wait().exit_code, 0);
  EXPECT_EQ(late.wait().exit_code, 0);
  const std::vector<std::string> order = jobs_of_slices(cluster);
  ASSERT_EQ(order.size(), 16u);
  // Perhaps one of a job before the worker had read of the other.
  int ahead = 0;  // of the job whose slice was the first
  for (const std::string& job : order) {
    ahead += job == order.front() ? 1 : -1;
    EXPECT_LE(std::abs(ahead), 2);
  }
}

TEST_F(ClusterJobTest, TellsAWorkerThatHasAnotherFile) {
  clip("a.mp4", 60);
  Command client(on_cluster({"run", job("out", kPlain, {{"attempts", 1}})}));
  const auto cluster = Cluster::connect({.url = server_.url()});
  yield_until("a job", [&] { return !cluster_jobs(*cluster).empty(); });
  clip("a.mp4", 61);
  const auto one = worker(1);
  const Result result = client.wait();
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.out, HasSubstr("another size or time of change"));
}

}  // namespace
}  // namespace vcap::test
