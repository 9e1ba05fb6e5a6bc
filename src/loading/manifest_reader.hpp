// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "vcap/loading/manifest.hpp"

namespace vcap {

/// The path of a platform's library in a capsule. Thread-safe.
std::string library_path(std::string_view platform);

/// Whether it may be a folder's name below lib/, such as "linux-x86_64". Thread-safe.
bool is_platform_name(std::string_view name);

/// Reads `capsule.json`, which is untrusted. Checks the versions first, since a newer manifest may
/// have another form. Logs fields that this library does not know. `capsule` appears in messages.
/// Throws InvalidCapsuleError (invalid_manifest, invalid_capsule_info) and IncompatibleCapsuleError
/// (unsupported_format_version, unsupported_api_version). Thread-safe.
Manifest read_manifest_text(std::span<const std::byte> text, const std::string& capsule);

}  // namespace vcap
