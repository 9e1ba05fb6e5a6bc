// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cluster/simulated_site/simulated_camera.hpp"

namespace vcap::simulated {

/// A worker of the simulated site. Thread safety: value.
struct SiteWorker {
  std::string name{};
  std::string url{};
  std::string folder{};  ///< gets its spool, and its log as NAME.log
  double capacity = 0;
  SimulatedCamera::Settings camera{};  ///< without its batch_time
  double record_time = 1;              ///< as of `vcap worker`, in seconds
  double checkpoint_time = 10;

  /// The command line of its process, which runs this program.
  std::vector<std::string> words() const;
  /// Reads these words, without the path of the program.
  static SiteWorker read(const std::vector<std::string>& words);
  /// Whether the words are of a worker.
  static bool is_one(const std::vector<std::string>& words);

  /// Works until SIGTERM. Returns the exit code of its process.
  int run() const;
};

}  // namespace vcap::simulated
