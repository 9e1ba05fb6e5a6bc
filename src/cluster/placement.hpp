// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace vcap {

/// A stream that is to run. Thread safety: value.
struct StreamToPlace {
  std::string id{};
  double load = 0;                 ///< in cores
  std::set<std::string> labels{};  ///< its worker must have them all
  std::string owner{};             ///< a living worker that runs it now; empty: none
};

/// A living worker. Thread safety: value.
struct WorkerToFill {
  std::string name{};
  double capacity = 0;  ///< in cores
  std::set<std::string> labels{};
  std::set<std::string> unfit{};  ///< streams that it cannot run
  bool is_draining = false;       ///< it is to have no streams
};

/// Which worker is to run each stream. Thread safety: value.
struct Placement {
  std::map<std::string, std::string> workers{};  ///< by stream
  std::map<std::string, std::string> reasons{};  ///< why a stream has no worker, by stream
};

/// Places streams on workers. It depends on nothing else, so all workers that know the same come to
/// the same result.
///
/// A stream stays with its owner, if that one may run it. Other streams, those with the most load
/// first, go to the worker that is then the least full, in relation to its capacity. No worker gets
/// more than its capacity. If nothing else is to be placed, and the fullest worker is fuller than
/// the emptiest by more than a fifth of its capacity, one stream moves.
Placement place(const std::vector<StreamToPlace>& streams,
                const std::vector<WorkerToFill>& workers);

}  // namespace vcap
