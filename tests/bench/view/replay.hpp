// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::bench {

/// The time of a run of a detector and a tracker, to that of a replay from after the detector.
/// Throws if their records differ.
double run_to_replay();

}  // namespace vcap::bench
