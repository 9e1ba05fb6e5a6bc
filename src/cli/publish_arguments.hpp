// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "vcap/records/publishers.hpp"

namespace vcap::cli {

/// A publisher, and what it is called in the summary and in the metrics.
struct NamedPublisher {
  std::string name{};
  /// "events to mqtt://HOST/TOPIC", or "frames to …". Of http and https, only the host, since the
  /// rest of the address may be a secret, and metrics have no password.
  std::string name_in_metrics{};
  std::shared_ptr<Publisher> publisher{};
};

/// Where a run publishes its events and records, and how.
struct PublishArguments {
  std::vector<std::string> events;  ///< URLs
  std::vector<std::string> frames;  ///< URLs
  std::string spool;                ///< a folder, which has a folder for each URL
  std::uint64_t spool_mib = 256;    ///< the most for each URL
  double wait = 5;                  ///< seconds
  std::string secret_file;
  std::string certificates;

  /// This object must live as long as the command. `event_rules`: the option that --publish needs.
  void add_to(CLI::App& command, CLI::Option* event_rules);

  /// `capsules`: the names that {capsule} in a topic stands for. Throw UsageError for a URL or a
  /// file of secrets, and what the factories of publishers throw.
  std::vector<NamedPublisher> open_events(const std::vector<std::string>& capsules) const;
  std::vector<NamedPublisher> open_frames(const std::vector<std::string>& capsules) const;

 private:
  std::vector<NamedPublisher> open(const char* option, const std::vector<std::string>& urls,
                                   const std::vector<std::string>& capsules) const;
};

/// "messages to NAME: 12 delivered, 3 not sent, …" and a newline.
std::string publisher_line(const NamedPublisher& one);

}  // namespace vcap::cli
