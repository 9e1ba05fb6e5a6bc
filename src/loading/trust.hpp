// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vcap/capsule/capsule_info.hpp"
#include "vcap/loading/sign_capsule.hpp"
#include "vcap/loading/trust_policy.hpp"

namespace vcap {

/// Whether the policy checks signatures; the bytes must then not change afterwards.
bool checks_signatures(const TrustPolicy& policy) noexcept;

/// Checks a file's signatures against the policy. Reads the file's end and, if the policy checks
/// signatures, computes its digest, but reads nothing of the archive. Returns the signatures of an
/// accepted file. `capsule` appears in messages. Throws UntrustedCapsuleError (unsigned_capsule,
/// bad_signature, unknown_key, revoked_key). Thread-safe.
std::vector<CapsuleSignature> check_signatures(std::span<const std::byte> file,
                                               const TrustPolicy& policy,
                                               const std::string& capsule);

/// Throws UntrustedCapsuleError (version_rollback) if the capsule is older than the policy accepts.
void check_minimum_version(const CapsuleInfo& info, const TrustPolicy& policy,
                           const std::string& capsule);

}  // namespace vcap
