// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "models/by_hand.hpp"
#include "models/networks.hpp"
#include "models/parts.hpp"
#include "models/python_peers.hpp"
#include "models/rate_pair.hpp"
#include "support/quantile.hpp"

namespace vcap::bench::models {
namespace {

/// A network by hand and in vcap, compiled once for each.
struct Both {
  explicit Both(const Network& its_network, PerformanceGoal goal)
      : network(its_network), hand(network, goal), backend([&] {
          EngineSettings settings;
          settings.goal = goal;
          return make_backend(network, settings);
        }()) {}

  const Network network;
  ByHand hand;
  const std::unique_ptr<DetectorBackend> backend;
};

Both& both(const Network& network, PerformanceGoal goal) {
  static auto& all = *new std::map<std::pair<std::string, PerformanceGoal>, std::unique_ptr<Both>>;
  std::unique_ptr<Both>& place = all[{network.name, goal}];
  if (!place) place = std::make_unique<Both>(network, goal);
  return *place;
}

/// Each caller sends its next picture when it has its previous result.
Rate by_callers(const Network& network, ModelBackend<Detections>& backend, int count) {
  Window window(network.images, network.images / 10);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < count; ++caller)
    callers.emplace_back([&, caller] {
      const std::vector<cv::Mat>& all = pictures();
      for (auto i = static_cast<std::size_t>(caller); !window.over(); ++i, window.count())
        backend.predict(all[i % all.size()]);
    });
  callers.clear();
  return window.rate();
}

/// A backend with one worker more, which prepares the next picture while the others run theirs.
class OneWorkerMore final : private CapsuleFiles, public ModelBackend<Detections> {
 public:
  explicit OneWorkerMore(const Network& network) : OneWorkerMore(files_of(network), network.spec) {}
  DetectionNodes process_frame(const Frame&, DetectionNodes nodes, const OptionValues&,
                               BaseStreamState&) override {
    return nodes;
  }

 private:
  OneWorkerMore(const CapsuleFiles& files, const ModelSpec& spec)
      : OneWorkerMore(files, load_model(files, spec, "CPU"), spec) {}
  OneWorkerMore(CapsuleFiles files, std::shared_ptr<ModelRunner> runner, const ModelSpec& spec)
      : CapsuleFiles(std::move(files)),  // they outlive the runner
        ModelBackend(runner, make_detection_reader(spec), policy(*runner)) {}
  static BatchPolicy policy(const ModelRunner& runner) {
    BatchPolicy policy = runner.batch_policy();
    ++policy.workers;
    return policy;
  }
};

/// The rate of 16 callers, divided by their rate with one worker more.
double to_one_worker_more(const Network& network) {
  static auto& all = *new std::map<std::string, std::unique_ptr<OneWorkerMore>>;
  std::unique_ptr<OneWorkerMore>& backend = all[network.name];
  if (!backend) backend = std::make_unique<OneWorkerMore>(network);
  Both& ways = both(network, PerformanceGoal::throughput);
  return ratio([&] { return by_callers(network, *ways.backend, 16).of_time; },
               [&] { return by_callers(network, *backend, 16).of_time; });
}

/// The rates of `callers`, divided by those of a refill by hand.
Rate to_refill(ByHand& hand, const std::function<Rate()>& callers) {
  static bool callers_first = false;
  callers_first = !callers_first;
  Rate by_callers, by_hand;
  if (callers_first) by_callers = callers();
  by_hand = hand.refill();
  if (!callers_first) by_callers = callers();
  return {by_callers.of_time / by_hand.of_time, by_callers.of_cpu / by_hand.of_cpu};
}

double latency_of(const std::function<void(const cv::Mat&)>& detect, long images) {
  const std::vector<cv::Mat>& all = pictures();
  std::vector<double> took;
  for (long i = 0; i < images; ++i)
    took.push_back(seconds([&] { detect(all[static_cast<std::size_t>(i) % all.size()]); }));
  return quantile(std::move(took), 0.5);
}

}  // namespace

std::vector<Figure> throughput() {
  std::vector<Figure> figures;
  for (const Network& network : networks()) {
    const auto add_pair = [&](const std::string& who, double target,
                              const std::function<Rate(Both&)>& callers) {
      const auto pair = std::make_shared<RatePair>([=] {
        Both& ways = both(network, PerformanceGoal::throughput);
        return to_refill(ways.hand, [&] { return callers(ways); });
      });
      figures.push_back({.id = "models.1",
                         .what = who + ", rate of a refill by hand",
                         .target = target,
                         .better = Better::higher,
                         .sample = [=] { return pair->of_time(); },
                         .samples = 5});
      figures.push_back({.id = "models.1",
                         .what = who + ", images a CPU-second, of the same",
                         .target = target,
                         .better = Better::higher,
                         .sample = [=] { return pair->of_cpu(); },
                         .samples = 5});
    };
    for (const int callers : {1, 2, 4, 16, 32}) {
      // One caller leaves a device with several requests idle, and so may two.
      add_pair(
          network.name + ", " + std::to_string(callers) + (callers == 1 ? " caller" : " callers"),
          callers < 4 ? 0 : 0.97,
          [=](Both& ways) { return by_callers(network, *ways.backend, callers); });
    }
    for (const int callers : {4, 16})
      add_pair("floor: " + network.name + ", " + std::to_string(callers) + " callers by hand", 0,
               [=](Both& ways) { return ways.hand.serve(callers); });
    figures.push_back({.id = "models.1",
                       .what = network.name + ", rate of 32 callers to that of 1",
                       .target = 1,
                       .better = Better::higher,
                       .sample = [=] {
                         Both& ways = both(network, PerformanceGoal::throughput);
                         return ratio(
                             [&] { return by_callers(network, *ways.backend, 32).of_time; },
                             [&] { return by_callers(network, *ways.backend, 1).of_time; });
                       }});
    figures.push_back({.id = "models.1",
                       .what = network.name + ", 16 callers, rate of one worker more",
                       .target = 0.97,
                       .better = Better::higher,
                       .sample = [=] { return to_one_worker_more(network); }});
    if (!has_python()) continue;
    const auto add = [&](const std::string& what, const std::function<double()>& rate) {
      figures.push_back(
          {.id = "models.1",
           .what = network.name + ", " + what + ", rate of benchmark_app",
           .target = 0,
           .better = Better::higher,
           .sample = [=] { return ratio(rate, [=] { return by_benchmark_app(network); }); },
           .samples = 5});
    };
    // The first does the same work as benchmark_app; the callers also fit pictures and read
    // outputs.
    add("ready tensors by hand", [=] {
      return both(network, PerformanceGoal::throughput).hand.refill_ready(network.images).of_time;
    });
    add("16 callers", [=] {
      return by_callers(network, *both(network, PerformanceGoal::throughput).backend, 16).of_time;
    });
  }
  return figures;
}

std::vector<Figure> latency() {
  std::vector<Figure> figures;
  for (const Network& network : networks())
    figures.push_back(
        {.id = "models.1",
         .what = network.name + ", goal latency, time of a loop by hand, 1 caller",
         .target = 1.05,
         .sample = [=] {
           Both& ways = both(network, PerformanceGoal::latency);
           const long images = network.images / 2;
           const auto by_caller = [&](const cv::Mat& picture) { ways.backend->detect(picture); };
           const auto by_loop = [&](const cv::Mat& picture) { ways.hand.run(picture); };
           return ratio([&] { return latency_of(by_caller, images); },
                        [&] { return latency_of(by_loop, images); });
         }});
  return figures;
}

}  // namespace vcap::bench::models
