// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/capsule/device.hpp"
#include "vcap/capsule/output_policy.hpp"
#include "vcap/loading/archive/archive_limits.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"
#include "vcap/loading/resources/resource_options.hpp"
#include "vcap/loading/trust_policy.hpp"

namespace vcap {

/// How a capsule is loaded. Thread safety: value.
struct LoadOptions {
  /// false: load only the description and start no backend.
  bool inference_mode = true;
  /// For BaseCapsule::config(); must match the capsule's CapsuleInfo::config_schema. Not needed
  /// without inference_mode.
  JsonValue config = JsonValue::object();
  /// Device names to choose from; empty: those that discover_devices(device_providers) finds.
  std::vector<std::string> devices{};
  std::vector<std::shared_ptr<const DeviceProvider>> device_providers{};
  /// Replaces CapsuleInfo::batch, for example if a device has little memory.
  std::optional<BatchSizes> batch{};
  /// Replaces CapsuleInfo::stencil, for example to compare frames that are farther apart. Only for
  /// a capsule that has a stencil and whose code asks for no certain number of frames.
  std::optional<Stencil> stencil{};
  /// How what the capsule gives is held against its description.
  OutputPolicy outputs{};
  ArchiveLimits limits{};
  /// Which capsules are accepted.
  TrustPolicy trust{};
  /// Decrypts encrypted capsules; other capsules load without it.
  std::optional<EncryptionKey> key{};
  /// Where the capsule's resources come from and are kept; not needed without inference_mode.
  ResourceOptions resources{};
};

/// Loads a capsule from a `.cap` file, or from its bytes (copied if needed).
///
/// Stages, each with its own errors: open, decryption, trust, archive, manifest with its versions,
/// digests, platform and ABI, resources, library, entry, description, devices, backends
/// (docs/capsule-format.md has the table).
///
/// Libraries stay mapped for the life of the process. Libraries with the same digest are mapped
/// once; a changed file loads new code. Files of the capsule are views into the mapped `.cap` file,
/// so replace it by a rename, never in place.
///
/// Throws InvalidCapsuleError, IncompatibleCapsuleError, UntrustedCapsuleError, ResourceError,
/// CapsuleLoadError, DeviceError; messages name the file, the entry at fault and the remedy. Throws
/// InvalidArgument (invalid_config), before any code of the capsule runs, if config does not match
/// the manifest's schema; InvalidArgument if a bound of `outputs` is 0, or if the stencil is not
/// allowed or the capsule has none. Thread-safe.
VCAP_EXPORT std::shared_ptr<Capsule> load_capsule(const std::string& path,
                                                  const LoadOptions& options = {});
VCAP_EXPORT std::shared_ptr<Capsule> load_capsule(std::span<const std::byte> bytes,
                                                  const LoadOptions& options = {});

}  // namespace vcap
