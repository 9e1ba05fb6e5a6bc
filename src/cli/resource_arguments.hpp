// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "vcap/loading/resources/resource_options.hpp"

namespace vcap::cli {

/// The command line's arguments about resources.
struct ResourceArguments {
  std::string cache{};
  std::string mirror{};
  bool offline = false;

  /// Adds their options; `cache_name` is the name of the cache's option.
  void add_to(CLI::App& command, const std::string& cache_name);
  ResourceOptions options() const;
};

}  // namespace vcap::cli
