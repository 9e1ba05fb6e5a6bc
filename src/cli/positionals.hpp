// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vcap::cli {

/// Whether the name, given without an option, means a capsule: it ends in ".cap", in any case.
bool names_capsule(const std::string& name);

/// Appends each name to the capsules or to the sources, in their order.
void sort_positionals(const std::vector<std::string>& names, std::vector<std::string>& capsules,
                      std::vector<std::string>& sources);

}  // namespace vcap::cli
