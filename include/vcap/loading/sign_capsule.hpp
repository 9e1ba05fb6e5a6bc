// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/loading/crypto/signing_key.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// A signature of a capsule, and how a TrustPolicy judges it. Thread safety: value.
struct CapsuleSignature {
  enum class Verdict {
    valid,    ///< by a key of the policy
    unknown,  ///< by another key, so it cannot be checked
    revoked,  ///< by a key that the policy has revoked
  };
  KeyId key{};
  Verdict verdict = Verdict::unknown;
  bool operator==(const CapsuleSignature&) const = default;
};

/// The verdict's name, as in the enum. Thread-safe.
VCAP_EXPORT std::string_view to_string(CapsuleSignature::Verdict verdict) noexcept;

/// Signs a capsule file. Checks the file first, as verify_capsule does, and replaces it by a
/// rename. A signature by the same key is replaced; one by another key stays. A file has room for
/// two, so that keys can be rotated. To encrypt it too, sign first.
///
/// Throws as verify_capsule does; UntrustedCapsuleError (encrypted_capsule; bad_signature if the
/// file was changed since it was signed); InvalidArgument if two other keys have signed it;
/// OutputError.
VCAP_EXPORT void sign_capsule(const std::string& path, const SecretKey& key,
                              const ArchiveLimits& limits = {});

/// Decrypts a capsule file if it is encrypted, and checks it against options.trust, as load_capsule
/// does; does not read its archive. Returns its signatures, or an empty list if it has none and the
/// policy accepts that. Throws as load_capsule does up to that stage. Thread-safe.
VCAP_EXPORT std::vector<CapsuleSignature> verify_signature(const std::string& path,
                                                           const LoadOptions& options);
VCAP_EXPORT std::vector<CapsuleSignature> verify_signature(std::span<const std::byte> bytes,
                                                           const LoadOptions& options);

}  // namespace vcap
