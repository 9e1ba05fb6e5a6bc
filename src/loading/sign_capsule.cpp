// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/sign_capsule.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "files/digest.hpp"
#include "files/output_file.hpp"
#include "loading/archive/signature_block.hpp"
#include "loading/open_capsule.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Bytes = std::span<const std::byte>;
using Slots = std::vector<SignatureBlock::Slot>;

/// The signed bytes: those of the file up to its comment's size, and that size.
class SignedContent {
 public:
  /// `end`: of the archive without its comment.
  SignedContent(const ByteReader& file, std::uint64_t end) : file_(file), before_(end - 2) {}

  void for_each_block(const TakeBlock& take) const {
    file_.for_each_block(0, before_, take);
    constexpr std::array<std::byte, 2> kSize{static_cast<std::byte>(kSignatureBlockSize & 0xff),
                                             static_cast<std::byte>(kSignatureBlockSize >> 8)};
    take(kSize);
  }
  std::string digest() const {
    Sha256 digest;
    for_each_block([&digest](Bytes block) { digest.update(block); });
    return digest.hexadecimal();
  }

 private:
  const ByteReader& file_;
  std::uint64_t before_;
};

/// The key's slot: its existing one, or a new one.
SignatureBlock::Slot& slot_for(const KeyId& key, Slots& slots, const std::string& capsule) {
  const auto own = std::ranges::find(slots, key, &SignatureBlock::Slot::key);
  if (own != slots.end()) return *own;
  if (slots.size() == kSignatureSlots)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          capsule + " is signed by two keys already, " + slots[0].key.to_string() +
                              " and " + slots[1].key.to_string() +
                              ", which is the maximum; pack it again to sign it with other keys");
  return slots.emplace_back(SignatureBlock::Slot{.key = key});
}

void write_signed(const std::filesystem::path& path, const SignedContent& content, Slots slots,
                  const SecretKey& key, const std::string& digest, const std::string& capsule) {
  SignatureBlock::Slot& slot = slot_for(key.public_key().id(), slots, capsule);
  const std::string message = signed_message(slot.key, digest);
  slot.signature = key.sign(std::as_bytes(std::span(message)));
  OutputFile file(path, OutputFile::Target::regular_file);
  Sha256 written;
  content.for_each_block([&](Bytes block) {
    file.write(block);
    written.update(block);
  });
  if (written.hexadecimal() != digest)
    throw InvalidCapsuleError(ErrorCode::capsule_changed,
                              capsule +
                                  " was changed by another process while it was signed; "
                                  "sign it again");
  file.write(signature_block_bytes(slots, digest));
  file.commit();
}

}  // namespace

void sign_capsule(const std::string& path, const SecretKey& key, const ArchiveLimits& limits) {
  const AdmittedFile admitted =
      admit_plain_capsule(path, limits,
                          "is encrypted; sign it before encryption, since the signature covers the "
                          "plain content");
  OpenedCapsule(admitted.archive, admitted.name, limits).verify();

  const ByteReader& file = *admitted.archive;
  const auto block = read_block_at_end(file);
  const SignedContent content(file, file.size() - (block ? kSignatureBlockSize : 0));
  const std::string digest = content.digest();
  Slots slots;
  if (block) {
    if (!has_right_checksum(*block, digest))
      throw UntrustedCapsuleError(
          ErrorCode::bad_signature,
          admitted.name + " was changed since it was signed; pack it again to sign it");
    slots = block->slots;
  }
  write_signed(path, content, std::move(slots), key, digest, admitted.name);
}

std::vector<CapsuleSignature> verify_signature(const std::string& path,
                                               const LoadOptions& options) {
  return admit_capsule(path, options).signatures;
}

std::vector<CapsuleSignature> verify_signature(Bytes bytes, const LoadOptions& options) {
  return admit_capsule(bytes, options).signatures;
}

}  // namespace vcap
