// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <CLI/App.hpp>

#include "vcap/sources/source.hpp"

namespace vcap::cli {

/// Which part of its sources a command line asks for, when a camera is given up, and what decodes.
struct SourceArguments {
  double start = 0;             ///< seconds
  std::optional<double> end{};  ///< seconds
  std::int64_t stride = 1;
  std::int64_t loop = 1;
  int reconnect = ReconnectPolicy::endless;
  double silence_limit = 5;  ///< seconds
  bool connect_later = false;
  bool hwaccel = false;
  int decoder_threads = 0;  ///< 0: vcap decides
  std::int64_t max_pixels = SourceOptions().max_pixels;

  void add_to(CLI::App& command);
  /// Declares only `hwaccel`, for commands that only look at sources.
  static void add_hwaccel_to(CLI::App& command, bool& hwaccel);
  /// Throws UsageError for invalid times.
  SourceOptions options() const;
};

}  // namespace vcap::cli
