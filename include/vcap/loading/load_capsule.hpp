// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/capsule/device.hpp"
#include "vcap/loading/archive/archive_limits.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"
#include "vcap/loading/resources/resource_options.hpp"
#include "vcap/loading/trust_policy.hpp"

namespace vcap {

/// How a capsule is loaded. Thread safety: value.
struct LoadOptions {
  /// false: load the description and start no backend.
  bool inference_mode = true;
  /// For BaseCapsule::config(); as the capsule's CapsuleInfo::config_schema says. None is needed
  /// without inference_mode.
  nlohmann::json config = nlohmann::json::object();
  /// Device names to choose from; empty: what discover_devices(device_providers) finds.
  std::vector<std::string> devices{};
  std::vector<std::shared_ptr<const DeviceProvider>> device_providers{};
  /// In place of CapsuleInfo::batch, such as where a device has little memory.
  std::optional<BatchSizes> batch{};
  ArchiveLimits limits{};
  /// Whose capsules are let in.
  TrustPolicy trust{};
  /// Opens capsules that are encrypted; others are loaded all the same.
  std::optional<EncryptionKey> key{};
  /// Where the capsule's resources come from and are kept; not needed without inference_mode.
  ResourceOptions resources{};
};

/// Loads a capsule from a `.cap` file, or from the bytes of one (copied where needed).
///
/// Stages, each with errors of its own: open, decryption, trust, archive, manifest with its
/// versions, digests, platform and ABI, resources, library, entry, description, devices,
/// backends
/// (docs/capsule-format.md has the table). Libraries stay mapped for the life of the process, and
/// one digest is mapped once; a changed file gives new code. Files of the capsule are views into
/// the mapped `.cap` file, so replace it by a rename, never in place. Throws InvalidCapsuleError,
/// IncompatibleCapsuleError, UntrustedCapsuleError, ResourceError, CapsuleLoadError, DeviceError;
/// messages name the file, the entry at fault and the remedy; InvalidArgument (invalid_config),
/// before any code of the capsule runs, where config is not as the manifest's schema says.
/// Thread-safe.
VCAP_EXPORT std::shared_ptr<Capsule> load_capsule(const std::filesystem::path& path,
                                                  const LoadOptions& options = {});
VCAP_EXPORT std::shared_ptr<Capsule> load_capsule(std::span<const std::byte> bytes,
                                                  const LoadOptions& options = {});

}  // namespace vcap
