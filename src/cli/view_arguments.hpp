// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "vcap/view/live_view_settings.hpp"

namespace vcap::cli {

/// How the live view is reached, and what it may change.
struct ViewArguments {
  std::string address{};  ///< empty: no live view
  std::string tokens{};
  TlsFiles tls{};
  std::vector<std::string> sources{};  ///< schemes and folders
  std::string recordings{};            ///< folder; empty: none
  bool uploads = false;

  void add_to(CLI::App& command);
  /// Only how the view is reached, and by whom: for a view that changes nothing.
  void add_access_to(CLI::App& command, const std::string& about_view,
                     const std::string& about_tokens);
  /// Whether streams may be added while others run.
  bool can_add_sources() const noexcept { return !sources.empty(); }
  /// The address, tokens, TLS and allowed sources. Makes the file of tokens if there is none.
  /// Throws UsageError, InvalidArgument and OutputError.
  LiveViewSettings settings() const;
};

/// If only a port is given, only this machine can reach it.
std::string with_host(std::string address);

}  // namespace vcap::cli
