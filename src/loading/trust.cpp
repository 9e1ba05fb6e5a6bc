// SPDX-License-Identifier: Apache-2.0
#include "loading/trust.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "files/digest.hpp"
#include "loading/archive/signature_block.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using Verdict = CapsuleSignature::Verdict;

/// "00112233445566aa, 8899aabbccddeeff": the key ids that `id_of` gives for the elements of a
/// range.
template <class Range, class IdOf>
std::string id_list(const Range& range, IdOf id_of) {
  std::string list;
  for (const auto& element : range) list += (list.empty() ? "" : ", ") + id_of(element).to_string();
  return list.empty() ? "(none)" : list;
}

std::string list_of_signers(const std::vector<CapsuleSignature>& signatures) {
  return id_list(signatures, [](const CapsuleSignature& one) { return one.key; });
}

std::string list_of_keys(const TrustPolicy& policy) {
  return id_list(policy.keys, [](const PublicKey& key) { return key.id(); });
}

[[noreturn]] void refuse(ErrorCode code, const std::string& message) {
  throw UntrustedCapsuleError(code, message);
}

[[noreturn]] void refuse_signature(const std::string& capsule, const std::string& fault) {
  refuse(ErrorCode::bad_signature,
         capsule + " " + fault + "; the file is damaged or was changed, get it again");
}

/// The verdict on a slot; throws if it has a trusted key but a wrong signature.
Verdict verdict_of(const SignatureBlock::Slot& slot, const std::string& digest,
                   const TrustPolicy& policy, const std::string& capsule) {
  if (policy.revoked.contains(slot.key)) return Verdict::revoked;
  const auto key = std::ranges::find(policy.keys, slot.key, &PublicKey::id);
  if (key == policy.keys.end()) return Verdict::unknown;
  const std::string message = signed_message(slot.key, digest);
  if (!key->verifies(std::as_bytes(std::span(message)), slot.signature))
    refuse_signature(capsule, "has a signature by key " + slot.key.to_string() +
                                  " that does not match its content");
  return Verdict::valid;
}

/// Refuses a file without a valid signature, if one is by a revoked key or if the policy requires a
/// signature.
void check_uncounted(const std::vector<CapsuleSignature>& signatures, const TrustPolicy& policy,
                     const std::string& capsule) {
  const auto revoked = std::ranges::find(signatures, Verdict::revoked, &CapsuleSignature::verdict);
  if (revoked != signatures.end())
    refuse(ErrorCode::revoked_key,
           capsule + " is signed by key " + revoked->key.to_string() +
               ", which is revoked; get a file that is signed by another key");
  if (policy.require_signature)
    refuse(ErrorCode::unknown_key,
           capsule + " is signed by " + list_of_signers(signatures) + "; the allowed keys are " +
               list_of_keys(policy) +
               "; add the signer's public key to TrustPolicy::keys (--trusted-key) if you trust "
               "it, or get a file that is signed by one of them");
}

}  // namespace

std::string_view to_string(CapsuleSignature::Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::valid:
      return "valid";
    case Verdict::unknown:
      return "unknown";
    case Verdict::revoked:
      return "revoked";
  }
  return "";
}

bool checks_signatures(const TrustPolicy& policy) noexcept {
  return policy.require_signature || !policy.keys.empty() || !policy.revoked.empty();
}

std::vector<CapsuleSignature> check_signatures(std::span<const std::byte> file,
                                               const TrustPolicy& policy,
                                               const std::string& capsule) {
  const auto signed_file = read_signed_file(file);
  if (!signed_file) {
    if (policy.require_signature)
      refuse(ErrorCode::unsigned_capsule,
             capsule + " is not signed, but the policy requires a signature by one of the keys " +
                 list_of_keys(policy) + "; sign it with `vcap sign`, or get a signed file");
    log(LogLevel::info, capsule + " is not signed; accepted, as TrustPolicy allows");
    return {};
  }
  std::vector<CapsuleSignature> signatures;
  for (const SignatureBlock::Slot& slot : signed_file->block.slots)
    signatures.push_back({.key = slot.key});
  if (checks_signatures(policy)) {
    const std::string digest = sha256(signed_file->content);
    if (!has_right_checksum(signed_file->block, digest))
      refuse_signature(capsule, "has a signature block with a wrong checksum");
    for (std::size_t i = 0; i < signatures.size(); ++i)
      signatures[i].verdict = verdict_of(signed_file->block.slots[i], digest, policy, capsule);
  }
  if (std::ranges::find(signatures, Verdict::valid, &CapsuleSignature::verdict) != signatures.end())
    return signatures;
  check_uncounted(signatures, policy, capsule);
  log(LogLevel::info, capsule + " is signed by " + list_of_signers(signatures) +
                          ", which is not checked; accepted, as TrustPolicy allows");
  return signatures;
}

void check_minimum_version(const CapsuleInfo& info, const TrustPolicy& policy,
                           const std::string& capsule) {
  const auto minimum = policy.minimum_versions.find(info.name);
  if (minimum == policy.minimum_versions.end() || info.version >= minimum->second) return;
  refuse(ErrorCode::version_rollback, capsule + " is version " + std::to_string(info.version) +
                                          " of " + quote(info.name) + "; the minimum is " +
                                          std::to_string(minimum->second) +
                                          " (TrustPolicy::minimum_versions); get a newer file");
}

}  // namespace vcap
