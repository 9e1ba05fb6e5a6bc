// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/capsule_settings.hpp"
#include "cli/loaded_capsules.hpp"
#include "cli/start_step.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap::cli {

/// Which capsules a command loads, and how. Borrows.
struct CapsulesToLoad {
  const std::vector<std::string>& paths;
  const std::vector<CapsuleInfo>& infos;  ///< of the paths
  const CapsuleSettings& settings;
  const LoadOptions& access;
};

/// Loads capsules, as a step of the start. Throws what load_capsule() throws.
void load_all(const CapsulesToLoad& wanted, LoadedCapsules& capsules, const Starting& starting);

}  // namespace vcap::cli
