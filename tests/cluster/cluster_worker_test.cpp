// SPDX-License-Identifier: Apache-2.0
// Workers and jobs in this process, so that the sanitizers see their threads.
#include "vcap/cluster/worker.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/capsule_cache.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/nats_server.hpp"
#include "cluster/object_store.hpp"
#include "cluster/site_reader.hpp"
#include "cluster/worker_place.hpp"
#include "files/digest.hpp"
#include "support/bounded_wait.hpp"
#include "support/clip_writer.hpp"
#include "support/live_helpers.hpp"
#include "support/outputs_in.hpp"
#include "support/paths.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/cluster_job.hpp"
#include "vcap/cluster/cluster_stream.hpp"
#include "vcap/cluster/cluster_trace.hpp"
#include "vcap/cluster/job_list.hpp"
#include "vcap/cluster/site_status.hpp"
#include "vcap/jobs/bulk.hpp"

namespace vcap::test {
namespace {

/// A worker in threads of this process.
class RunningWorker {
 public:
  RunningWorker(const NatsServer& server, const std::filesystem::path& folder, int slots)
      : worker_(Cluster::connect(server.settings()), {.folder = folder, .slots = slots}),
        thread_([this](const std::stop_token& stop) { worker_.run(stop); }) {}
  WorkerStatistics end() {
    thread_ = {};
    return worker_.statistics();
  }

 private:
  ClusterWorker worker_;
  std::jthread thread_;
};

class ClusterWorkerTest : public testing::Test {
 protected:
  ClusterWorkerTest() { av_log_set_level(AV_LOG_ERROR); }

  std::string clip(const std::string& name, int frames) const {
    std::filesystem::create_directories(folder_ / "clips");
    const auto path = folder_ / "clips" / name;
    write_clip(path, {.size = {64, 48}, .frames = frames, .options = b_frames(false)});
    return path;
  }
  /// A job over these clips, which this process has in its folder `out`.
  Job job(const std::vector<std::string>& clips, const std::string& out, int slices = 0) const {
    Job job{.capsules = {{.path = test::built("tests/cluster/jobs/steady.cap")}},
            .outputs = {.folder = folder_ / out, .summary = true},
            .slices = slices};
    for (const std::string& path : clips)
      job.videos.push_back({.id = std::filesystem::path(path).stem(), .source = path});
    return job;
  }
  std::shared_ptr<Cluster> connect() const { return Cluster::connect(server_.settings()); }
  bool has_capsule(const Job& job) const {
    const auto cluster = connect();
    const auto content = open_object_file(job.capsules.front().path);
    return make_broker_store(cluster->impl().jet_stream, cluster->impl().site)
        ->contains(capsule_object(sha256(content->bytes())));
  }

  const TemporaryFolder folder_;
  NatsServer server_;
};

TEST_F(ClusterWorkerTest, GivesTheOutputsOfOneProcess) {
  std::vector<std::string> clips;
  for (int i = 0; i < 6; ++i) clips.push_back(clip("small" + std::to_string(i) + ".mp4", 3 + i));
  clips.push_back(clip("large.mp4", 400));  // its records do not fit into results
  RunningWorker first(server_, folder_ / "w1", 2);
  RunningWorker second(server_, folder_ / "w2", 1);
  for (const int slices : {1, 2}) {
    const std::string name = std::to_string(slices);
    const JobReport report = run_cluster_job(connect(), job(clips, "out" + name, slices));
    EXPECT_EQ(report.done, 7);
    EXPECT_EQ(run_job(job(clips, "alone" + name, slices)).done, 7);
    EXPECT_TRUE(outputs_in(folder_ / ("out" + name)) == outputs_in(folder_ / ("alone" + name)));
  }
  const WorkerStatistics one = first.end();
  const WorkerStatistics other = second.end();
  EXPECT_EQ(one.failed + other.failed + one.refused + other.refused, 0u);
  EXPECT_EQ(one.done + other.done, 7u + 14u);
}

TEST_F(ClusterWorkerTest, CutsAVideoForTheSlotsOfAllWorkers) {
  const std::string path = clip("long.mp4", 900);
  RunningWorker first(server_, folder_ / "w1", 1);
  RunningWorker second(server_, folder_ / "w2", 1);
  RunningWorker third(server_, folder_ / "w3", 2);
  const auto cluster = connect();
  yield_until("the workers", [&] { return slots_of_site(*cluster) == 4; });
  EXPECT_EQ(run_cluster_job(connect(), job({path}, "out")).done, 1);
  EXPECT_EQ(first.end().done + second.end().done + third.end().done, 8u);
  EXPECT_EQ(slots_of_site(*cluster), 0u) << "they have ended";
  EXPECT_EQ(run_job(job({path}, "alone")).done, 1);
  EXPECT_TRUE(outputs_in(folder_ / "out") == outputs_in(folder_ / "alone"));
}

TEST_F(ClusterWorkerTest, ScansAVideoOnceForAllWorkers) {
  const std::string path = clip("long.mp4", 300);
  const KeptLog log;
  RunningWorker first(server_, folder_ / "w1", 1);
  RunningWorker second(server_, folder_ / "w2", 1);
  EXPECT_EQ(run_cluster_job(connect(), job({path}, "out", 12)).done, 1);
  EXPECT_GT(first.end().done, 0u);
  EXPECT_GT(second.end().done, 0u);
  const std::string text = log.text();
  const auto count = [&text](const std::string& words) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find(words, at)) != text.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("video \"long\": scanned"), 1);
  EXPECT_EQ(count("video \"long\": its frames are found by the index"), 1);
  EXPECT_EQ(run_job(job({path}, "alone", 12)).done, 1);
  EXPECT_TRUE(outputs_in(folder_ / "out") == outputs_in(folder_ / "alone"));
  const auto cluster = connect();
  EXPECT_THAT(cluster->impl().jet_stream.all("OBJ_" + cluster->impl().site.bucket(), "$O.>"),
              testing::IsEmpty())
      << "the index is removed with the job";
}

TEST_F(ClusterWorkerTest, GoesOnWithAJobThatWasStopped) {
  std::vector<std::string> clips;
  for (int i = 0; i < 4; ++i) clips.push_back(clip("c" + std::to_string(i) + ".mp4", 40));
  RunningWorker worker(server_, folder_ / "w", 2);
  std::stop_source stop;
  const JobReport first = run_cluster_job(
      connect(), job(clips, "out", 5), {.on_slice = [&stop](std::int64_t) { stop.request_stop(); }},
      stop.get_token());
  EXPECT_GT(first.left, 0);
  const JobReport second = run_cluster_job(connect(), job(clips, "out", 5));
  EXPECT_EQ(first.done + second.done, 4);
  EXPECT_EQ(run_job(job(clips, "alone", 5)).done, 4);
  EXPECT_TRUE(outputs_in(folder_ / "out") == outputs_in(folder_ / "alone"));
}

TEST_F(ClusterWorkerTest, TracesAJobWithTheWorkOfAllWorkers) {
  std::vector<std::string> clips;
  for (int i = 0; i < 4; ++i) clips.push_back(clip("c" + std::to_string(i) + ".mp4", 20));
  RunningWorker first(server_, folder_ / "w1", 1);
  RunningWorker second(server_, folder_ / "w2", 1);
  std::string id;
  EXPECT_EQ(
      run_cluster_job(connect(), job(clips, "out", 3),
                      {.on_slice = [&](std::int64_t) { id = cluster_jobs(*connect()).front().id; }})
          .done,
      4);
  const std::uint64_t slices = first.end().done + second.end().done;
  const nlohmann::json trace = *cluster_trace(connect(), id);
  std::map<std::string, std::uint64_t> spans;
  std::set<int> processes;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") continue;
    EXPECT_EQ(event.at("args").at("trace"), id);
    EXPECT_GE(event.at("ts"), 0);
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur"), 0);
    ++spans[event.at("name")];
    processes.insert(event.at("pid").get<int>());
  }
  EXPECT_EQ(slices, 12u);
  for (const char* const name : {"slice done", "open", "run", "store"})
    EXPECT_EQ(spans[name], slices) << name;
  EXPECT_EQ(spans["capsules loaded"], 2u);  // by each worker
  EXPECT_EQ(spans["job done"], 1u);
  EXPECT_EQ(processes.size(), 3u);
}

TEST_F(ClusterWorkerTest, DoesNothingForVideosThatHaveChangedSince) {
  const std::string changed = clip("changed.mp4", 10);
  const std::string gone = clip("gone.mp4", 10);
  std::stop_source stop;
  std::jthread first([&] {
    run_cluster_job(connect(), job({changed, gone}, "out"), {}, stop.get_token());
  });
  yield_until("a job", [this] { return cluster_jobs(*connect()).size() == 1; });
  stop.request_stop();
  first.join();
  clip("changed.mp4", 12);
  RunningWorker worker(server_, folder_ / "w", 1);
  const JobReport report = run_cluster_job(connect(), job({changed}, "out"));
  EXPECT_EQ(report.done, 1);
  const WorkerStatistics statistics = worker.end();
  EXPECT_EQ(statistics.done, 1u);
  EXPECT_EQ(statistics.failed, 0u);
}

/// Counts records, and keeps what the view of their worker would show at the first one.
class LookingSink final : public Sink {
 public:
  explicit LookingSink(ViewedStreams viewed) : viewed_(std::move(viewed)) {}
  void write(const FrameRecord& record) override {
    if (records_++ > 0) return;
    has_image_ = !record.frame.image.empty();
    pipelines_ = viewed_.pipelines().size();
    listed_ = viewed_.all();
  }

  const ViewedStreams viewed_;
  std::atomic<int> records_ = 0;
  // Of the thread of the stream, until it has ended.
  bool has_image_ = false;
  std::size_t pipelines_ = 0;
  std::vector<ViewedStreams::Listed> listed_{};
};

TEST_F(ClusterWorkerTest, LetsAViewShowTheStreamsThatItRuns) {
  const auto cluster = connect();
  ClusterWorker worker(cluster, {.folder = folder_ / "w", .slots = 1, .name = "one"});
  const ViewedStreams viewed = worker.viewed_streams();
  EXPECT_TRUE(viewed.pipelines().empty());
  EXPECT_THAT(viewed.refusal, testing::HasSubstr("vcap stream rollout"));
  const auto sink = std::make_shared<LookingSink>(viewed);
  for (const char* const wrong : {"javascript:alert(1)", "http://one/ two", "one:9465"})
    EXPECT_THROW(worker.set_view(sink, wrong), InvalidArgument) << wrong;
  worker.set_view(sink, "http://127.0.0.1:9465/");
  {
    const std::jthread thread([&](const std::stop_token& stop) { worker.run(stop); });
    add_cluster_stream(*cluster,
                       {.id = "clip",
                        .source = clip("a.mp4", 40),
                        .capsules = {{.path = test::built("tests/cluster/jobs/steady.cap")}}});
    yield_until("its end", [&] {
      return cluster_streams(*cluster).front().state == ClusterStreamStatus::State::ended;
    });
    EXPECT_EQ(sink->records_, 40);
    EXPECT_TRUE(sink->has_image_);
    EXPECT_EQ(sink->pipelines_, 1u);
    ASSERT_EQ(sink->listed_.size(), 1u);
    EXPECT_EQ(sink->listed_[0].id, "clip");
    EXPECT_EQ(sink->listed_[0].state, "running");
    EXPECT_EQ(sink->listed_[0].worker, "one");
    EXPECT_EQ(sink->listed_[0].view, "") << "its own";
    EXPECT_EQ(cluster_workers(*cluster).front().view, "http://127.0.0.1:9465/");
    yield_until("the end of the pipeline", [&] { return viewed.pipelines().empty(); });
    yield_until("its notice", [&] { return viewed.all()[0].state == "ended"; });
  }
  EXPECT_EQ(cluster_workers(*cluster).front().view, "");
}

TEST_F(ClusterWorkerTest, RemovesACapsuleWithTheLastJobThatNeedsIt) {
  const std::string path = clip("a.mp4", 5);
  std::jthread cancelled([&] { run_cluster_job(connect(), job({path}, "cancelled")); });
  yield_until("a job", [this] { return cluster_jobs(*connect()).size() == 1; });
  const std::string id = cluster_jobs(*connect()).front().id;
  std::jthread done([&] { EXPECT_EQ(run_cluster_job(connect(), job({path}, "done")).done, 1); });
  yield_until("another job", [this] { return cluster_jobs(*connect()).size() == 2; });
  cancel_cluster_job(*connect(), id);
  cancelled.join();
  EXPECT_TRUE(has_capsule(job({path}, "done")));
  RunningWorker worker(server_, folder_ / "w", 1);
  done.join();
  EXPECT_FALSE(has_capsule(job({path}, "done")));
}

TEST_F(ClusterWorkerTest, DoesNotWaitForABrokerThatHangsWhenItIsStopped) {
  ClusterSettings settings = server_.settings();
  settings.timeout = std::chrono::milliseconds(300);
  settings.patience = std::chrono::hours(1);
  const std::string path = clip("a.mp4", 5);
  std::stop_source stop;
  JobReport report;
  std::jthread client([&] {
    report = run_cluster_job(Cluster::connect(settings), job({path}, "out"), {}, stop.get_token());
  });
  yield_until("a job", [this] { return cluster_jobs(*connect()).size() == 1; });
  server_.hang();
  stop.request_stop();
  client.join();  // soon; the test has its own limit of time
  EXPECT_EQ(report.left, 1);
  server_.resume();
}

TEST_F(ClusterWorkerTest, WaitsForABrokerThatHangsWhenAJobBegins) {
  ClusterSettings settings = server_.settings();
  settings.timeout = std::chrono::milliseconds(300);
  settings.patience = std::chrono::milliseconds(0);
  const Job two = job({clip("a.mp4", 5), clip("b.mp4", 5)}, "out");
  RunningWorker worker(server_, folder_ / "w1", 1);
  for (const bool is_stopped : {true, false}) {
    const KeptLog log;
    const auto cluster = Cluster::connect(settings);
    server_.hang();
    std::stop_source stop;
    JobReport report;
    std::jthread client([&] { report = run_cluster_job(cluster, two, {}, stop.get_token()); });
    EXPECT_TRUE(log.wait_for("waits for the broker"));
    if (is_stopped)
      stop.request_stop();
    else
      server_.resume();
    client.join();
    EXPECT_EQ(report.left, is_stopped ? 2 : 0);
    EXPECT_EQ(report.done, is_stopped ? 0 : 2);
    if (is_stopped) server_.resume();
  }
}

TEST_F(ClusterWorkerTest, AJobIsStoppedAlthoughItsBrokerHangsWhenItBegins) {
  ClusterSettings settings = server_.settings();
  settings.timeout = std::chrono::milliseconds(100);
  settings.patience = std::chrono::hours(1);
  const Job one = job({clip("a.mp4", 5)}, "out");
  for (const int wait_ms : {0, 20, 300}) {
    const auto cluster = Cluster::connect(settings);
    server_.hang();
    std::stop_source stop;
    JobReport report;
    std::jthread client([&] { report = run_cluster_job(cluster, one, {}, stop.get_token()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    stop.request_stop();
    client.join();
    EXPECT_EQ(report.left, 1);
    server_.resume();
  }
}

TEST_F(ClusterWorkerTest, SaysWhetherItsBrokerAnswers) {
  const auto cluster = connect();
  EXPECT_TRUE(cluster->answers(std::chrono::seconds(5)));
  server_.hang();
  yield_until("no answer", [&] { return !cluster->answers(std::chrono::milliseconds(20)); });
  server_.resume();
}

TEST(WorkerPlaceTest, IsOneWorkersAloneAndKeptForTheNext) {
  const TemporaryFolder shared;
  shared.write("worker-0/spool/spool", "kept");
  shared.write("worker-1/work/records.jsonl", "of a worker that has died");
  const WorkerPlace first(shared.path());
  EXPECT_EQ(first.folder(), shared / "worker-0");
  EXPECT_FALSE(std::filesystem::exists(shared / "worker-1/work"));
  std::string name;
  {
    const WorkerPlace second(shared.path());
    EXPECT_EQ(second.folder(), shared / "worker-1");
    EXPECT_NE(second.name(), first.name());
    name = second.name();
  }
  const WorkerPlace next(shared.path());
  EXPECT_EQ(next.name(), name);
  EXPECT_TRUE(std::filesystem::exists(shared / "worker-0/spool/spool"));
}

}  // namespace
}  // namespace vcap::test
