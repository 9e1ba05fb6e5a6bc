// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "models/by_hand.hpp"
#include "models/networks.hpp"
#include "models/parts.hpp"

namespace vcap::bench::models {
namespace {

/// Images per second of `count` backends of the same network, with 16 callers in total.
double backends(int count, const Network& network = pose()) {
  constexpr int kCallers = 16;
  std::vector<std::unique_ptr<DetectorBackend>> all;
  for (int i = 0; i < count; ++i) all.push_back(make_backend(network));
  Window window(network.images, network.images / 10);
  std::vector<std::jthread> callers;
  for (std::size_t caller = 0; caller < kCallers; ++caller)
    callers.emplace_back([&, caller] {
      const std::vector<cv::Mat>& images = pictures();
      for (std::size_t i = caller; !window.over(); ++i, window.count())
        all[caller % all.size()]->detect(images[i % images.size()]);
    });
  callers.clear();
  return window.rate().of_time;
}

/// Images per second of a fast network with 4 callers. Meanwhile, `neighbours` callers keep a slow
/// network busy, which takes some fifty times as long per picture.
double beside_a_slow_one(int neighbours) {
  static const auto& fast = *new std::unique_ptr<DetectorBackend>(make_backend(pose()));
  static const auto& slow =
      *new std::unique_ptr<DetectorBackend>(make_backend(yunet({1920, 1920})));
  std::atomic<bool> over{false};
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < neighbours; ++caller)
    callers.emplace_back([&] {
      while (!over) slow->detect(pictures().front());
    });
  const Network network = pose();
  Window window(network.images, network.images / 10);
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      const std::vector<cv::Mat>& images = pictures();
      for (std::size_t i = 0; !window.over(); ++i, window.count())
        fast->detect(images[i % images.size()]);
      over = true;
    });
  callers.clear();
  return window.rate().of_time;
}

/// The same by hand, with a refill of each network: the share that caches and kernel allow.
double by_hand_beside_a_slow_one(bool neighbour) {
  static auto& fast = *new ByHand(pose(), PerformanceGoal::throughput);
  static auto& slow = *new ByHand(
      [] {
        Network network = yunet({1920, 1920});
        network.images = 4;
        return network;
      }(),
      PerformanceGoal::throughput);
  std::atomic<bool> over{!neighbour};
  const std::jthread refill([&] {
    while (!over) slow.refill();
  });
  const double rate = fast.refill().of_time;
  over = true;
  return rate;
}

}  // namespace

std::vector<Figure> side_by_side() {
  std::vector<Figure> figures{
      {.id = "models.5",
       .what = "four models beside each other, 4 callers each, rate of one with 16",
       .target = 0.9,
       .better = Better::higher,
       .sample = [] { return ratio([] { return backends(4); }, [] { return backends(1); }); }},
      {.id = "models.5",
       .what = "four yolo beside each other, 4 callers each, rate of one with 16",
       .target = 0.9,
       .better = Better::higher,
       .sample =
           [] {
             return ratio([] { return backends(4, yolo()); }, [] { return backends(1, yolo()); });
           }},
      // The fast network's share is half of the device.
      {.id = "models.5",
       .what = "pose 224, 4 callers, beside yunet 1920 with 4, rate of pose alone",
       .target = 0.45,
       .better = Better::higher,
       .sample =
           [] {
             return ratio([] { return beside_a_slow_one(4); }, [] { return beside_a_slow_one(0); });
           }},
      {.id = "models.5",
       .what = "floor: the same by hand",
       .target = 0,
       .better = Better::higher,
       .sample = [] {
         return ratio([] { return by_hand_beside_a_slow_one(true); },
                      [] { return by_hand_beside_a_slow_one(false); });
       }}};
  for (const int in_a_row : {1, 4, 16, 64})
    figures.push_back({.id = "models.5",
                       .what = "floor: four models by hand, in turns of " +
                               std::to_string(in_a_row) + ", rate of one",
                       .target = 0.9,
                       .better = Better::higher,
                       .sample = [=] { return in_turns(pose().file, in_a_row); },
                       .samples = 5});
  return figures;
}

}  // namespace vcap::bench::models
