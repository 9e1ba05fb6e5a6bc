// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/crypto/encryption_key.hpp"

#include <sodium.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "loading/crypto/encryption_secret.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

[[noreturn]] void refuse_key(const std::string& message) {
  throw InvalidArgument(ErrorCode::invalid_key, message);
}

SecretBytes copy_of(std::span<const std::byte> bytes) {
  SecretBytes copy(bytes.size());
  std::ranges::copy(bytes, copy.bytes().begin());
  return copy;
}

void check_size(std::size_t size, const std::string& subject) {
  if (size != EncryptionKey::kSize)
    refuse_key(subject + " has " + std::to_string(size) + " bytes; an encryption key has " +
               std::to_string(EncryptionKey::kSize) + ", as `vcap keygen --encryption` makes it");
}

}  // namespace

EncryptionKey::EncryptionKey(std::shared_ptr<const Secret> secret) : secret_(std::move(secret)) {}

EncryptionKey EncryptionKey::generate() {
  SecretBytes bytes(kSize);
  ::randombytes_buf(bytes.data(), bytes.size());
  return EncryptionKey(std::make_shared<Secret>(Secret{.bytes = std::move(bytes)}));
}

EncryptionKey EncryptionKey::from_bytes(std::span<const std::byte> bytes) {
  check_size(bytes.size(), "encryption key");
  return EncryptionKey(std::make_shared<Secret>(Secret{.bytes = copy_of(bytes)}));
}

EncryptionKey EncryptionKey::from_file(const std::string& path) {
  SecretBytes bytes = read_key_file(path, "encryption key file", KeyFile::secret);
  check_size(bytes.size(), "encryption key file " + quote(path));
  return EncryptionKey(std::make_shared<Secret>(Secret{.bytes = std::move(bytes)}));
}

EncryptionKey EncryptionKey::from_passphrase(std::string_view passphrase) {
  if (passphrase.empty()) refuse_key("the passphrase is empty; give one that is hard to guess");
  return EncryptionKey(std::make_shared<Secret>(
      Secret{.bytes = copy_of(std::as_bytes(std::span(passphrase))), .is_passphrase = true}));
}

EncryptionKey EncryptionKey::from_passphrase_file(const std::string& path) {
  const SecretBytes content = read_key_file(path, "passphrase file", KeyFile::secret);
  const std::string_view text(reinterpret_cast<const char*>(content.bytes().data()),
                              content.size());
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  if (line.empty())
    refuse_key("passphrase file " + quote(path) + " has no passphrase in its first line");
  return from_passphrase(line);
}

bool EncryptionKey::is_passphrase() const noexcept { return secret_->is_passphrase; }

void EncryptionKey::save(const std::string& path) const {
  if (is_passphrase()) refuse_key("a passphrase cannot be saved as a key");
  write_key_file(path, secret_->bytes.bytes(), KeyFile::secret);
}

}  // namespace vcap
