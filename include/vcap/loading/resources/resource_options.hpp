// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace vcap {

/// How the resources of capsules are fetched and kept (docs/resources.md). What is left empty is
/// taken from the environment. Proxies are those that the environment names (https_proxy,
/// all_proxy, no_proxy). Thread safety: value.
struct ResourceOptions {
  /// Empty: $VCAP_CACHE, else $XDG_CACHE_HOME/vcap, else ~/.cache/vcap.
  std::filesystem::path cache{};
  /// Where set, `<mirror>/<sha256>` is fetched instead of each URL; the same schemes are allowed.
  /// Empty: $VCAP_RESOURCE_MIRROR.
  std::string mirror{};
  /// Fetch nothing: what is not in the cache fails the load, saying which file to put where.
  /// $VCAP_OFFLINE=1 sets it too.
  bool offline = false;
  /// The certificates of the authorities that servers are checked against, in one PEM file. Empty:
  /// $SSL_CERT_FILE, else the system's.
  std::filesystem::path certificates{};
  /// Bound of the cache. Before a fetch that would go beyond it, what was used longest ago is
  /// removed; never what a loaded capsule holds.
  std::uint64_t cache_bytes = std::uint64_t{64} << 30;

  std::chrono::milliseconds connect_timeout{15'000};
  /// A transfer of less than 1 KiB a second for so long is broken off.
  std::chrono::seconds stall_timeout{30};
  /// How often a fetch is tried where a later try may succeed; each continues the one before.
  int attempts = 5;
  /// Waits between two of them: half a second, then twice as long each time. Empty: sleeps.
  std::function<void(std::chrono::milliseconds)> wait{};
};

}  // namespace vcap
