// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/by_hand.hpp"
#include "models/networks.hpp"
#include "models/parts.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::bench::models {
namespace {

double start(const Network& network, const std::filesystem::path& cache) {
  EngineSettings settings;
  settings.cache_folder = cache;
  return seconds([&] { make_backend(network, settings); });
}

/// The time of a start that compiles, divided by that of a start that imports from the cache.
double cold_to_warm(const Network& network) {
  [[maybe_unused]] static const auto& engine =
      *new std::shared_ptr<Engine>(find_engine("openvino"));  // loaded first, and kept
  const test::TemporaryFolder cache;
  const double cold = seconds([&] { make_backend(network); });
  start(network, cache.path());
  if (cache.names().empty()) throw std::runtime_error("the cache kept nothing");
  return cold / start(network, cache.path());
}

/// The same for the engine alone.
double cold_to_warm_by_hand(const Network& network) {
  const StartTimes times = start_by_hand(network);
  return times.cold / times.warm;
}

}  // namespace

std::vector<Figure> warm_start() {
  std::vector<Figure> figures;
  for (const Network& network : {pose(), yunet({320, 320}), yolo()}) {
    const std::string what = network.name + ", time of a start without the cache, to one with it";
    const auto add = [&](const std::string& prefix, double (*sample)(const Network&)) {
      figures.push_back({.id = "models.5",
                         .what = prefix + what,
                         .target = 5,
                         .better = Better::higher,
                         .sample = [=] { return sample(network); }});
    };
    add("", cold_to_warm);
    add("floor: ", cold_to_warm_by_hand);
  }
  return figures;
}

}  // namespace vcap::bench::models
