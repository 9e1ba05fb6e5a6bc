// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "cluster/jet_stream.hpp"
#include "cluster/site.hpp"

namespace vcap {

/// Removes those of these capsules' objects that no job and no stream of the site needs. Throws
/// ClusterError.
void remove_unused_capsules(JetStream& jet_stream, const Site& site, std::set<std::string> objects);

}  // namespace vcap
