// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <CLI/App.hpp>

#include "vcap/runtime/source.hpp"

namespace vcap::cli {

/// Which part of its sources a command line asks for, and when it gives a camera up.
struct SourceArguments {
  double start = 0;             ///< seconds
  std::optional<double> end{};  ///< seconds
  std::int64_t stride = 1;
  std::int64_t loop = 1;
  int reconnect = ReconnectPolicy().max_attempts;
  double silence_limit = 5;  ///< seconds

  void add_to(CLI::App& command);
  /// Throws UsageError for times that are none.
  SourceOptions options() const;
};

}  // namespace vcap::cli
