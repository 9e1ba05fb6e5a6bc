// SPDX-License-Identifier: Apache-2.0
#include "loading/trust.hpp"

#include <algorithm>
#include <optional>

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

/// Whether the policy checks signatures at all.
bool checks_signatures(const TrustPolicy& policy) noexcept {
  return policy.require_signature || !policy.keys.empty() || !policy.revoked.empty();
}

/// What is known of a signature before the file is read; `valid` if it is by a key that counts.
Verdict first_verdict(const SignatureBlock::Slot& slot, const TrustPolicy& policy) {
  if (policy.revoked.contains(slot.key)) return Verdict::revoked;
  const auto key = std::ranges::find(policy.keys, slot.key, &PublicKey::id);
  return key == policy.keys.end() ? Verdict::unknown : Verdict::valid;
}

/// The verdict on a slot; throws if it has a trusted key but a wrong signature.
Verdict verdict_of(const SignatureBlock::Slot& slot, const std::string& digest,
                   const TrustPolicy& policy, const std::string& capsule) {
  const Verdict claimed = first_verdict(slot, policy);
  if (claimed != Verdict::valid) return claimed;
  const auto key = std::ranges::find(policy.keys, slot.key, &PublicKey::id);
  const std::string message = signed_message(slot.key, digest);
  if (!key->verifies(std::as_bytes(std::span(message)), slot.signature))
    refuse_signature(capsule, "has a signature by key " + slot.key.to_string() +
                                  " that does not match its content");
  return Verdict::valid;
}

/// Refuses a file without a signature that counts, if one is by a revoked key or if the policy
/// requires a signature.
void check_uncounted(const std::vector<CapsuleSignature>& signatures, const TrustPolicy& policy,
                     const std::string& capsule) {
  if (has_valid_one(signatures)) return;
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

/// The signatures as they are before the file is read. Throws if none of them can count.
std::vector<CapsuleSignature> claimed_signatures(const std::optional<SignatureBlock>& block,
                                                 const TrustPolicy& policy,
                                                 const std::string& capsule) {
  if (!block) {
    if (policy.require_signature)
      refuse(ErrorCode::unsigned_capsule,
             capsule + " is not signed, but the policy requires a signature by one of the keys " +
                 list_of_keys(policy) + "; sign it with `vcap sign`, or get a signed file");
    return {};
  }
  std::vector<CapsuleSignature> signatures;
  for (const SignatureBlock::Slot& slot : block->slots)
    signatures.push_back({.key = slot.key, .verdict = first_verdict(slot, policy)});
  check_uncounted(signatures, policy, capsule);
  return signatures;
}

/// The digest of what a signature covers: all bytes before the block.
std::string digest_of_content(const ByteReader& file) {
  Sha256 digest;
  file.for_each_block(0, file.size() - kSignatureBlockSize,
                      [&digest](ByteReader::Bytes block) { digest.update(block); });
  return digest.hexadecimal();
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

bool has_valid_one(const std::vector<CapsuleSignature>& signatures) noexcept {
  return std::ranges::find(signatures, Verdict::valid, &CapsuleSignature::verdict) !=
         signatures.end();
}

bool check_signers(const ByteReader& file, const TrustPolicy& policy, const std::string& capsule) {
  return has_valid_one(claimed_signatures(read_block_at_end(file), policy, capsule));
}

std::vector<CapsuleSignature> check_signatures(const ByteReader& file, const TrustPolicy& policy,
                                               const std::string& capsule) {
  const auto block = read_block_at_end(file);
  auto signatures = claimed_signatures(block, policy, capsule);
  if (!block || !checks_signatures(policy)) return signatures;
  const std::string digest = digest_of_content(file);
  if (!has_right_checksum(*block, digest))
    refuse_signature(capsule, "has a signature block with a wrong checksum");
  for (std::size_t i = 0; i < signatures.size(); ++i)
    signatures[i].verdict = verdict_of(block->slots[i], digest, policy, capsule);
  return signatures;
}

void log_acceptance(const std::vector<CapsuleSignature>& signatures, const std::string& capsule) {
  if (signatures.empty())
    log(LogLevel::info, capsule + " is not signed; accepted, as TrustPolicy allows");
  else if (!has_valid_one(signatures))
    log(LogLevel::info, capsule + " is signed by " + list_of_signers(signatures) +
                            ", which is not checked; accepted, as TrustPolicy allows");
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
