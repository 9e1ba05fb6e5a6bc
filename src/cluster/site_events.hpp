// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "cluster/cluster_impl.hpp"

namespace vcap {

/// Tells the site what has happened, for people: `vcap cluster events` shows it. Thread safety:
/// thread-safe.
class SiteEvents {
 public:
  /// `who`: the worker or client.
  SiteEvents(std::shared_ptr<Cluster> cluster, std::string who);

  /// `what`: such as "stream claimed"; `details`: an object. Does not wait for the broker, and does
  /// not throw: an event may be lost with the connection.
  void tell(const std::string& what, nlohmann::json details) noexcept;

 private:
  const std::shared_ptr<Cluster> cluster_;
  const std::string who_;
};

/// The same for a client.
void tell_site(Cluster& cluster, const std::string& who, const std::string& what,
               nlohmann::json details) noexcept;

}  // namespace vcap
