// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/loading/sign_capsule.hpp"
#include "vcap/loading/trust_policy.hpp"

namespace vcap {

/// Whether the policy looks at signatures, so that the bytes must not change after.
bool checks_signatures(const TrustPolicy& policy) noexcept;

/// Holds a file's signatures against the policy; reads the file's end, and its digest where the
/// policy looks at signatures, but nothing of the archive. Gives the signatures of a file that is
/// let in. `capsule` stands in messages. Throws UntrustedCapsuleError (unsigned_capsule,
/// bad_signature, unknown_key, revoked_key). Thread-safe.
VCAP_EXPORT std::vector<CapsuleSignature> check_signatures(std::span<const std::byte> file,
                                                           const TrustPolicy& policy,
                                                           const std::string& capsule);

/// Throws UntrustedCapsuleError (version_rollback) where the capsule is older than the policy asks.
void check_minimum_version(const CapsuleInfo& info, const TrustPolicy& policy,
                           const std::string& capsule);

}  // namespace vcap
