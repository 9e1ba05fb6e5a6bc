// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace vcap {

/// How the resources of capsules are fetched and kept (docs/resources.md). Empty values are taken
/// from the environment, and so are proxies (https_proxy, all_proxy, no_proxy). Thread safety:
/// value.
struct ResourceOptions {
  /// Empty: $VCAP_CACHE, else $XDG_CACHE_HOME/vcap, else ~/.cache/vcap.
  std::string cache{};
  /// If set, `<mirror>/<sha256>` is fetched instead of each URL; the same schemes are allowed.
  /// Empty: $VCAP_RESOURCE_MIRROR.
  std::string mirror{};
  /// Fetch nothing. If a file is not in the cache, the load fails, and the message says where to
  /// put which file. $VCAP_OFFLINE=1 sets it too.
  bool offline = false;
  /// CA certificates for checking servers, in one PEM file. Empty: $SSL_CERT_FILE, otherwise the
  /// system's.
  std::string certificates{};
  /// Maximum size of the cache. Before a fetch would exceed it, the least recently used files are
  /// removed, but never those that a loaded capsule holds.
  std::uint64_t cache_bytes = std::uint64_t{64} << 30;

  std::chrono::milliseconds connect_timeout{15'000};
  /// A transfer below 1 KiB per second for this long is aborted.
  std::chrono::seconds stall_timeout{30};
  /// Maximum number of tries for a fetch that a later try may complete; each continues the one
  /// before.
  int attempts = 5;
  /// Waits between two tries: half a second, then twice as long each time, up to 30 s. Empty:
  /// sleeps.
  std::function<void(std::chrono::milliseconds)> wait{};
};

}  // namespace vcap
