// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/base/export.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// Writes an encrypted copy of a capsule, including its signatures; `output` may be `path`. The
/// bytes differ each time. Throws as read_manifest does, UntrustedCapsuleError (encrypted_capsule)
/// if it is already encrypted, OutputError.
VCAP_EXPORT void encrypt_capsule(const std::string& path, const std::string& output,
                                 const EncryptionKey& key, const ArchiveLimits& limits = {});

}  // namespace vcap
