// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "files/byte_reader.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/loading/sign_capsule.hpp"
#include "vcap/loading/trust_policy.hpp"

namespace vcap {

/// Checks who has signed a file, from its last 182 bytes; nothing else of it is read. Returns
/// whether a signature can count; false if the policy accepts the file without one. Otherwise
/// throws UntrustedCapsuleError: unsigned_capsule, unknown_key, revoked_key. `capsule` appears in
/// messages. Thread-safe.
bool check_signers(const ByteReader& file, const TrustPolicy& policy, const std::string& capsule);

/// check_signers(), and then the signatures themselves, if the policy checks them. Reads the whole
/// file for its digest, in bounded memory, but parses nothing of the archive. Returns the
/// signatures of an accepted file. Throws like check_signers, bad_signature, and what ByteReader
/// throws. Thread-safe.
std::vector<CapsuleSignature> check_signatures(const ByteReader& file, const TrustPolicy& policy,
                                               const std::string& capsule);

/// Whether one of the signatures is valid.
bool has_valid_one(const std::vector<CapsuleSignature>& signatures) noexcept;

/// Logs (info) that a file was accepted although no signature of it counts; nothing if one does.
void log_acceptance(const std::vector<CapsuleSignature>& signatures, const std::string& capsule);

/// Throws UntrustedCapsuleError (version_rollback) if the capsule is older than the policy accepts.
void check_minimum_version(const CapsuleInfo& info, const TrustPolicy& policy,
                           const std::string& capsule);

}  // namespace vcap
