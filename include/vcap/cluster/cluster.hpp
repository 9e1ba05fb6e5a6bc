// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// Where a cluster is, and how to log in. Secrets are in files, never in the settings themselves.
/// Thread safety: value.
struct ClusterSettings {
  /// "nats://HOST:PORT", or "tls://HOST:PORT"; several with commas. Without user and password.
  std::string url{};
  /// Names what belongs together: its streams, jobs and workers see no other site's. 1 to 32 of
  /// `A-Za-z0-9_-`.
  std::string site{"site"};
  std::string credentials{};  ///< file of credentials (a JWT with its NKey); empty: none
  /// File of the seed of an NKey, as `vcap cluster config` writes it; empty: none. Not with
  /// `credentials`.
  std::string nkey{};
  std::string certificates{};  ///< PEM file of the authorities to trust, with TLS; empty: system's
  std::string certificate{};   ///< PEM file of the client's own certificate; empty: none
  std::string key{};           ///< PEM file of its private key
  std::string name{"vcap"};    ///< of this client, in the server's list of connections
  /// Whether a site that does not exist yet is created.
  bool create_site = true;
  /// How many servers keep each message of the site: 1 to 5. Streams that have another number are
  /// refused. 0: a new site gets 3 if there are as many servers, else 1; an existing one may have
  /// any number.
  int replicas = 0;
  /// Without an answer for so long, a request has failed. From 1 ms to 1 hour.
  std::chrono::milliseconds timeout{2'000};
  /// A request that has failed is sent again until this time has passed since its beginning.
  std::chrono::milliseconds patience{15'000};
};

/// A connection to a site of a cluster, whose state is in NATS JetStream.
///
/// Made by connect(), used by queues, jobs and workers, which keep it alive. If the server is lost,
/// it connects again by itself, also to another server of the same cluster. libvcap_nats, which
/// brings the library libnats, is loaded by the first one. Thread safety: thread-safe.
class VCAP_EXPORT Cluster {
 public:
  /// Connects, and checks the server (version 2.9 or later, JetStream enabled, messages of 1 MiB
  /// allowed) and the configuration of the site's streams.
  /// Streams that are missing are created, if settings and login allow it. Throws InvalidArgument
  /// for settings that are not valid, also for an NKey file (invalid_key); ClusterError:
  /// broker_unreachable, broker_refused for a login that is refused, broker_unfit with the line to
  /// change for a server or stream that does not fit.
  static std::shared_ptr<Cluster> connect(const ClusterSettings& settings);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  std::string site() const;
  /// Whether there is a connection now.
  bool is_connected() const;
  /// Whether the broker answers a request within this time.
  bool answers(std::chrono::milliseconds within) const noexcept;
  /// Ends the connection. Calls that wait for an answer fail with ClusterError, and later calls do,
  /// too. Idempotent.
  void close() noexcept;

  /// For vcap's own code.
  struct Impl;
  Impl& impl() const& noexcept { return *impl_; }
  Impl& impl() const&& = delete;
  explicit Cluster(std::unique_ptr<Impl> impl);

 private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
