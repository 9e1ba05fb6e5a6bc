// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "loading/crypto/secret_bytes.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"

namespace vcap {

/// The 32 bytes of a key, or those of a passphrase.
struct EncryptionKey::Secret {
  SecretBytes bytes;
  bool is_passphrase = false;
};

}  // namespace vcap
