// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <CLI/App.hpp>

#include "vcap/cluster/cluster.hpp"

namespace vcap::cli {

/// The command line's arguments about a cluster.
struct ClusterArguments {
  ClusterSettings settings{};

  bool given() const noexcept { return !settings.url.empty(); }
  /// Declares where the cluster is; `url_name` is the name of the option for its URL. This object
  /// must live as long as the command.
  void add_to(CLI::App& command, const std::string& url_name);
  /// The same for a command that needs one.
  void require_in(CLI::App& command, const std::string& url_name);
  std::shared_ptr<Cluster> connect() const;
  /// The same for a site that must exist.
  std::shared_ptr<Cluster> connect_to_existing() const;
};

/// At a stop: ends the connection if the broker does not answer within half a second, so that
/// nothing waits for it.
void close_if_silent(Cluster& cluster);

}  // namespace vcap::cli
