// SPDX-License-Identifier: Apache-2.0
#include "cluster/takeover.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/nats_server.hpp"
#include "support/figures.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/rtsp_server.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/cluster/cluster_stream.hpp"

namespace vcap::bench {
namespace {

using std::chrono::steady_clock;

constexpr const char* kCamera = "camera";

/// Two workers and a camera.
class Site {
 public:
  Site() {
    start("x");
    start("y");
    add_cluster_stream(
        *client_, {.id = kCamera,
                   .source = camera_.url(),
                   .capsules = {{.path = test::built("tests/bench/start_bench_capsule.cap")}}});
  }

  int lease() const { return lease_; }
  /// Waits for a worker other than this one, and returns it.
  std::string await_worker_besides(const std::string& last) {
    const auto end = steady_clock::now() + std::chrono::seconds(60);
    while (steady_clock::now() < end) {
      for (const ClusterStreamStatus& stream : cluster_streams(*client_))
        if (!stream.worker.empty() && stream.worker != last) return stream.worker;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    throw std::runtime_error("no other worker has the camera after 60 s");
  }
  void kill(const std::string& worker) { workers_.at(worker)->kill(); }

 private:
  void start(const std::string& name) {
    workers_[name] = std::make_unique<Process>(std::vector<std::string>{
        test::built("src/cli/vcap"), "worker", "--nats", server_.url(), "--capsules",
        folder_ / name, "--name", name, "--stream-lease", std::to_string(lease_), "--slots", "0"});
  }

  const int lease_ = workload(4, 1);  ///< in seconds; the default
  const test::TemporaryFolder folder_;
  const test::NatsServer server_;
  const test::RtspServer camera_;
  const std::shared_ptr<Cluster> client_ = Cluster::connect({.url = server_.url()});
  std::map<std::string, std::unique_ptr<Process>> workers_;
};

}  // namespace

double takeover_beyond_lease() {
  Site site;
  const std::string worker = site.await_worker_besides({});
  // It may have sent its last heartbeat at any time before.
  static int turn = 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(1'000 + 137 * (turn++ % 8)));
  return seconds([&] {
           site.kill(worker);
           site.await_worker_besides(worker);
         }) -
         site.lease();
}

}  // namespace vcap::bench
