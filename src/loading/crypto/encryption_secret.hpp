// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "loading/crypto/secret_bytes.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"

namespace vcap {

/// 32 bytes, or the passphrase's.
struct EncryptionKey::Secret {
  SecretBytes bytes;
  bool is_passphrase = false;
};

}  // namespace vcap
