// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "vcap/loading/crypto/signing_key.hpp"

namespace vcap {

/// Which capsules a host accepts, decided before anything of their archive is read
/// (docs/security.md says what each setting guarantees, and what no setting does).
///
/// A signature counts if its key is in `keys` and not in `revoked`. For a signed file, under every
/// policy:
/// - a signature that counts must be valid, otherwise bad_signature;
/// - if the policy checks signatures, the block's checksum must be right, otherwise bad_signature;
/// - if no signature counts, one by a revoked key refuses the file: revoked_key.
///
/// With require_signature there must be a signature that counts, otherwise unsigned_capsule or
/// unknown_key. Without it, the file is accepted, with a line in the log (info).
///
/// With `keys`, `revoked` or require_signature, the file is first copied into sealed memory, and
/// everything is read from there. The default policy checks no signature, and the file stays
/// mapped. Thread safety: value.
struct TrustPolicy {
  bool require_signature = false;
  std::vector<PublicKey> keys{};
  std::set<KeyId> revoked{};
  /// The oldest accepted version, by the capsule's name; an older one gives version_rollback. Names
  /// and versions come from the manifest, so only a required signature protects them from forgery.
  std::map<std::string, int> minimum_versions{};
};

}  // namespace vcap
