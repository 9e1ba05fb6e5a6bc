// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "vcap/loading/crypto/signing_key.hpp"

namespace vcap {

/// Which capsules a host lets in, decided before anything of their archive is read
/// (docs/security.md says what each setting promises, and what none does).
///
/// A signature counts where its key is among `keys` and not `revoked`. Of a signed file, whatever
/// else is set:
/// - a signature that counts must be valid, else bad_signature; so must the block's checksum;
/// - without one that counts, a signature by a revoked key refuses the file: revoked_key.
/// Where require_signature is set, there must be one that counts, else unsigned_capsule or
/// unknown_key. Where it is not, the file is let in with a line in the log (info).
///
/// A policy with `keys`, `revoked` or require_signature has the file copied into sealed memory
/// first, and everything is read from there. The default policy checks no signature, and the file
/// stays mapped.
/// Thread safety: value.
struct TrustPolicy {
  bool require_signature = false;
  std::vector<PublicKey> keys{};
  std::set<KeyId> revoked{};
  /// By the capsule's name, the oldest version let in, else version_rollback. The names and
  /// versions are the manifest's: only where a signature is required can nobody make them up.
  std::map<std::string, int> minimum_versions{};
};

}  // namespace vcap
