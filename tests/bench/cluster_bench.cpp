// SPDX-License-Identifier: Apache-2.0
// The cost of a cluster over one process, with a broker and workers on this machine.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/nats_server.hpp"
#include "cluster/records.hpp"
#include "cluster/takeover.hpp"
#include "support/clip_writer.hpp"
#include "support/figures.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/cluster/cluster_queue.hpp"
#include "vcap/cluster/site_status.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using vcap::bench::Process;
using vcap::bench::run_process;
using vcap::bench::seconds;
using vcap::bench::workload;
using vcap::test::NatsServer;
using vcap::test::TemporaryFolder;

constexpr const char* kEnqueue = "--enqueue";

/// A folder of clips, made once.
fs::path clips(int count, int frames) {
  static const TemporaryFolder folder;
  fs::path clips = folder / (std::to_string(count) + "x" + std::to_string(frames));
  if (!fs::create_directories(clips)) return clips;
  for (int i = 0; i < count; ++i) {
    const fs::path clip = clips / ("clip" + std::to_string(i) + ".mp4");
    if (i == 0)
      vcap::test::write_clip(
          clip, {.size = {320, 240}, .frames = frames, .options = {{"preset", "veryfast"}}});
    else
      fs::copy_file(clips / "clip0.mp4", clip);
  }
  return clips;
}

struct Work {
  std::string capsule;
  int clips;
  int frames;
};

/// Writes a job file into the folder.
std::string job(const TemporaryFolder& folder, const Work& work, unsigned parallel) {
  return folder.write("job.json", Json{{"schema", "vcap.job/1"},
                                       {"capsules", {work.capsule}},
                                       {"sources", {clips(work.clips, work.frames).string() + "/"}},
                                       {"outputs", {{"folder", "out"}}},
                                       {"parallel", parallel}}
                                      .dump());
}

void check_outputs(const TemporaryFolder& folder, const Work& work) {
  const auto is_output = [](const fs::directory_entry& entry) { return entry.is_regular_file(); };
  if (std::count_if(fs::directory_iterator(folder / "out"), fs::directory_iterator(), is_output) !=
      work.clips)
    throw std::runtime_error("the job has not written all outputs");
}

double in_one_process(const Work& work, unsigned parallel) {
  const TemporaryFolder folder;
  const std::string file = job(folder, work, parallel);
  const double took = seconds([&] {
    run_process({vcap::test::built("src/cli/vcap"), "run", "--job", file});
  });
  check_outputs(folder, work);
  return took;
}

void await_workers(const std::string& url, std::size_t count) {
  const auto cluster = vcap::Cluster::connect({.url = url});
  while (vcap::cluster_workers(*cluster).size() < count)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/// The workers run before the job begins, as services do.
double on_cluster(const Work& work, int workers, unsigned slots) {
  const TemporaryFolder folder;
  const NatsServer server;
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < workers; ++i)
    processes.push_back(std::make_unique<Process>(std::vector<std::string>{
        vcap::test::built("src/cli/vcap"), "worker", "--nats", server.url(), "--capsules",
        folder / ("worker" + std::to_string(i)), "--slots", std::to_string(slots)}));
  await_workers(server.url(), processes.size());
  const std::string file = job(folder, work, slots);
  const double took = seconds([&] {
    run_process({vcap::test::built("src/cli/vcap"), "run", "--cluster", server.url(), file});
  });
  check_outputs(folder, work);
  return took;
}

/// Milliseconds of a task on a worker with one slot, less those of the same video in one process.
double task_cost() {
  const Work small{vcap::test::built("tests/bench/start_bench_capsule.cap"), workload(400, 4), 2};
  return (on_cluster(small, 1, 1) - in_one_process(small, 1)) / small.clips * 1'000;
}

const std::size_t kTasks = [] {
  const char* const given = std::getenv("VCAP_BENCH_TASKS");
  return given != nullptr ? std::stoul(given) : workload<std::size_t>(100'000, 1'000);
}();

/// Puts tasks such as those of a job into a new queue. Returns how many seconds it took.
double enqueue(const std::string& url) {
  const auto queue = vcap::make_cluster_queue(vcap::Cluster::connect({.url = url}), "bench");
  std::vector<vcap::TaskQueue::NewTask> tasks;
  for (std::size_t i = 0; i < kTasks; ++i)
    tasks.push_back({"video " + std::to_string(i),
                     {{"source", "/videos/of/a/day/" + std::to_string(i) + ".mp4"},
                      {"stamp", {{"size", i}, {"modified_ns", i}}}}});
  std::size_t put = 0;
  const double took = seconds([&] { put = queue->put_all(std::move(tasks)); });
  if (put != kTasks) throw std::runtime_error("not all tasks were put");
  return took;
}

double enqueue_rate() {
  const NatsServer server;
  return static_cast<double>(kTasks) / enqueue(server.url());
}

/// The peak memory of a process that does nothing else, in MiB.
double enqueue_memory() {
  const NatsServer server;
  return run_process({fs::read_symlink("/proc/self/exe"), kEnqueue, server.url()});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == kEnqueue) {
    enqueue(argv[2]);
    return 0;
  }
  av_log_set_level(AV_LOG_ERROR);
  const unsigned cores = std::max(2u, std::thread::hardware_concurrency());
  const Work real{
      vcap::test::built("examples/capsules/detector_person_hog/detector_person_hog.cap"),
      workload(100, 3), workload(20, 2)};
  return vcap::bench::run_figures(
      argc, argv,
      {{.id = "cluster.1",
        .what = "100 clips with detector_person_hog on 2 workers, time of one process on all cores",
        .target = 1.03,
        .sample =
            [=] {
              return vcap::bench::ratio([=] { return on_cluster(real, 2, cores / 2); },
                                        [=] { return in_one_process(real, cores); });
            },
        .samples = 5},
       {.id = "cluster.2",
        .what = "cost of a task beyond its work, ms",
        .target = 5,
        .sample = task_cost,
        .samples = 3},
       {.id = "cluster.2",
        .what = "time of a record in batches for the thread of its stream, us",
        .target = 2,
        .sample = [] { return vcap::bench::record_cost().stream_thread; },
        .samples = 5},
       {.id = "cluster.2",
        .what = "processor time of the worker for a record until the broker has it, us",
        .target = 2,
        .sample = [] { return vcap::bench::record_cost().process; },
        .samples = 5},
       {.id = "cluster.3",
        .what = "takeover after SIGKILL, beyond the lease of 4 s, s",
        .target = 0.5,
        .sample = vcap::bench::takeover_beyond_lease,
        .samples = 9},
       {.id = "cluster.4",
        .what = "rate at which 100,000 tasks are put, 1/s",
        .target = 20'000,
        .better = vcap::bench::Better::higher,
        .sample = enqueue_rate,
        .samples = 3},
       {.id = "cluster.4",
        .what = "peak memory of the process that puts them, MiB",
        .target = 300,
        .sample = enqueue_memory,
        .samples = 1}});
}
