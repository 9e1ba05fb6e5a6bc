// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster/jet_stream.hpp"

namespace vcap {

/// Throws ClusterError (broker_unfit), with what to change, if vcap cannot use the server: its
/// version, its limits, or JetStream that is not enabled.
void check_server(JetStream& jet_stream);

}  // namespace vcap
