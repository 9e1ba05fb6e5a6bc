// SPDX-License-Identifier: Apache-2.0
#include "cli/loaded_capsules.hpp"

#include <algorithm>

namespace vcap::cli {

LoadedCapsules::~LoadedCapsules() {
  if (capsules_.empty()) return;
  for (std::shared_ptr<Capsule>& capsule : capsules_) {
    bound_.begin("closing capsule " + capsule->name());
    capsule.reset();  // not the last reference if calls of it were given up
  }
  bound_.begin("the end of the process, which destroys static objects of capsules and libraries,");
}

std::string LoadedCapsules::running() const {
  std::string names;
  for (const std::shared_ptr<Capsule>& capsule : capsules_) {
    const std::vector<BackendStatistics> backends = capsule->backends();
    if (std::ranges::none_of(backends, [](const auto& one) { return one.running > 0; })) continue;
    names += (names.empty() ? "capsule " : ", capsule ") + capsule->name();
  }
  return names;
}

}  // namespace vcap::cli
