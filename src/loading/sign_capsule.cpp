// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/sign_capsule.hpp"

#include <algorithm>
#include <array>
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

/// The signed bytes in two parts: the file up to the block, and the two bytes with the block's
/// size.
struct Content {
  Bytes before_size{};
  std::array<std::byte, 2> size{static_cast<std::byte>(kSignatureBlockSize & 0xff),
                                static_cast<std::byte>(kSignatureBlockSize >> 8)};
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

void write_signed(const std::filesystem::path& path, const Content& content, Slots slots,
                  const SecretKey& key, const std::string& digest, const std::string& capsule) {
  SignatureBlock::Slot& slot = slot_for(key.public_key().id(), slots, capsule);
  const std::string message = signed_message(slot.key, digest);
  slot.signature = key.sign(std::as_bytes(std::span(message)));
  OutputFile file(path, OutputFile::Target::regular_file);
  file.write(content.before_size);
  file.write(content.size);
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

  const Bytes file = admitted.archive->bytes();
  const auto signed_file = read_signed_file(file);
  const Bytes before_block = signed_file ? signed_file->content : file;
  const Content content{.before_size = before_block.first(before_block.size() - 2)};
  const std::string digest = sha256(content.before_size, content.size);
  Slots slots;
  if (signed_file) {
    if (!has_right_checksum(signed_file->block, digest))
      throw UntrustedCapsuleError(
          ErrorCode::bad_signature,
          admitted.name + " was changed since it was signed; pack it again to sign it");
    slots = signed_file->block.slots;
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
