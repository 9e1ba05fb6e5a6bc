// SPDX-License-Identifier: Apache-2.0
#include "cli/load_all.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "cli/foreign_exit.hpp"

namespace vcap::cli {

void load_all(const CapsulesToLoad& wanted, LoadedCapsules& capsules, const Starting& starting) {
  std::atomic<std::size_t> loaded = 0;
  const auto load = [&] {
    for (; loaded < wanted.paths.size(); ++loaded) {
      LoadOptions options = wanted.access;
      wanted.settings.apply_to(options, wanted.infos[loaded].name);
      capsules.add(load_capsule(wanted.paths[loaded], options));
    }
  };
  do_start_step(
      load,
      [&] {
        return "loading capsule " +
               wanted.infos[std::min(loaded.load(), wanted.infos.size() - 1)].name;
      },
      starting);
  renew_exit_watch();
}

}  // namespace vcap::cli
