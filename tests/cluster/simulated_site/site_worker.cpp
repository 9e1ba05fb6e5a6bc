// SPDX-License-Identifier: Apache-2.0
#include "cluster/simulated_site/site_worker.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <thread>

#include "cluster/stream_worker.hpp"
#include "vcap/cluster/worker.hpp"

namespace vcap::simulated {
namespace {

constexpr const char* kWorker = "--worker";

}  // namespace

std::vector<std::string> SiteWorker::words() const {
  return {std::filesystem::read_symlink("/proc/self/exe"),
          kWorker,
          name,
          url,
          folder,
          std::to_string(capacity),
          std::to_string(camera.frames),
          std::to_string(camera.objects),
          std::to_string(camera.state_bytes),
          std::to_string(camera.load),
          std::to_string(record_time),
          std::to_string(checkpoint_time)};
}

bool SiteWorker::is_one(const std::vector<std::string>& words) {
  return words.size() == 11 && words.front() == kWorker;
}

SiteWorker SiteWorker::read(const std::vector<std::string>& words) {
  return {.name = words[1],
          .url = words[2],
          .folder = words[3],
          .capacity = std::stod(words[4]),
          .camera = {.frames = std::stod(words[5]),
                     .objects = std::stoi(words[6]),
                     .state_bytes = std::stoul(words[7]),
                     .load = std::stod(words[8])},
          .record_time = std::stod(words[9]),
          .checkpoint_time = std::stod(words[10])};
}

int SiteWorker::run() const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::freopen((folder + '/' + name + ".log").c_str(), "w", stderr) == nullptr) return 1;
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  try {
    const WorkerSettings usual;
    const auto nanoseconds = [](double seconds) {
      return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds));
    };
    SimulatedCamera::Settings settings = camera;
    settings.batch_time = nanoseconds(record_time);
    StreamWorker worker(Cluster::connect({.url = url, .site = "simulated", .create_site = false}),
                        {.name = name,
                         .folder = folder + '/' + name,
                         .lease = usual.stream_lease,
                         .capacity = capacity,
                         .batch_time = settings.batch_time,
                         .checkpoint_time = nanoseconds(checkpoint_time),
                         .spool_bytes = usual.spool_bytes,
                         .make_body = [settings](const std::string& id, const StreamMessage&) {
                           return std::make_unique<SimulatedCamera>(id, settings);
                         }});
    int status = 0;
    std::jthread thread([&](const std::stop_token& stop) {
      try {
        worker.run(stop);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "the worker has ended: %s\n", error.what());
        status = 1;
      }
      ::kill(::getpid(), SIGTERM);
    });
    int signal = 0;
    ::sigwait(&ending, &signal);
    thread.request_stop();
    thread.join();
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the worker cannot begin: %s\n", error.what());
    return 1;
  }
}

}  // namespace vcap::simulated
