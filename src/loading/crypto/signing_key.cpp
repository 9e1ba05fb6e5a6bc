// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/crypto/signing_key.hpp"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "files/bytes.hpp"
#include "files/digest.hpp"
#include "loading/crypto/secret_bytes.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::string_view kPublicPrefix = "vcap-public-key-1:";
constexpr std::string_view kSecretPrefix = "vcap-secret-key-1:";
constexpr int kBase64 = sodium_base64_VARIANT_ORIGINAL;
constexpr std::size_t kSeedSize = crypto_sign_SEEDBYTES;
static_assert(std::tuple_size_v<PublicKey::Bytes> == crypto_sign_PUBLICKEYBYTES);
static_assert(std::tuple_size_v<Signature> == crypto_sign_BYTES);

[[noreturn]] void fail_key(const std::string& fault) {
  throw InvalidArgument(ErrorCode::invalid_key, fault);
}

std::string_view without_space_at_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

/// Reads `prefix` and base64 that fills `into` exactly; false for anything else.
bool read_line(std::string_view text, std::string_view prefix, std::span<std::byte> into) {
  text = without_space_at_end(text);
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  std::size_t size = 0;
  const char* end = nullptr;
  return ::sodium_base642bin(writable_data(into), into.size(), text.data(), text.size(), nullptr,
                             &size, &end, kBase64) == 0 &&
         size == into.size() && end == text.data() + text.size();
}

std::string_view key_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint8_t hex_value(char digit, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto value =
      kDigits.find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit + 32) : digit);
  if (value == kDigits.npos)
    fail_key("key id " + quote(text) +
             " is not 16 hexadecimal digits, as `vcap keygen` prints them");
  return static_cast<std::uint8_t>(value);
}

}  // namespace

KeyId KeyId::parse(std::string_view text) {
  Bytes bytes{};
  if (text.size() != 2 * bytes.size())
    fail_key("key id " + quote(text) +
             " is not 16 hexadecimal digits, as `vcap keygen` prints them");
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(hex_value(text[2 * i], text) << 4 |
                                      hex_value(text[2 * i + 1], text));
  return KeyId(bytes);
}

std::string KeyId::to_string() const {
  std::string text;
  for (const std::byte byte : bytes_) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

PublicKey PublicKey::parse(std::string_view text) {
  init_sodium();
  Bytes bytes{};
  if (!read_line(text, kPublicPrefix, bytes))
    fail_key("not a public key; a public key is one line of " + quote(kPublicPrefix) +
             " and 44 characters, as `vcap keygen` writes it");
  // Rejects, among others, points for which any message verifies.
  if (::crypto_core_ed25519_is_valid_point(unsigned_data(bytes)) != 1)
    fail_key("not a valid public key (not a point of Ed25519); get the file again");
  return PublicKey(bytes);
}

PublicKey PublicKey::from_file(const std::string& path) {
  const SecretBytes content = read_key_file(path, "public key file", KeyFile::shown);
  try {
    return parse(key_text(content.bytes()));
  } catch (const InvalidArgument& error) {
    fail_key("public key file " + quote(path) + ": " + error.what());
  }
}

std::string PublicKey::to_string() const {
  std::string text(sodium_base64_ENCODED_LEN(sizeof bytes_, kBase64), '\0');
  ::sodium_bin2base64(text.data(), text.size(), unsigned_data(bytes_), bytes_.size(), kBase64);
  text.pop_back();  // the terminating zero
  return std::string(kPublicPrefix) + text;
}

KeyId PublicKey::id() const { return KeyId::parse(std::string_view(sha256(bytes_)).substr(0, 16)); }

bool PublicKey::verifies(std::span<const std::byte> message, const Signature& signature) const {
  init_sodium();
  return ::crypto_sign_verify_detached(unsigned_data(signature), unsigned_data(message),
                                       message.size(), unsigned_data(bytes_)) == 0;
}

void PublicKey::save(const std::string& path) const {
  const std::string line = to_string() + "\n";
  write_key_file(path, std::as_bytes(std::span(line)), KeyFile::shown);
}

/// The seed, and the key in libsodium's form, which is computed from it.
struct SecretKey::Secret {
  SecretBytes seed{kSeedSize};
  SecretBytes key{crypto_sign_SECRETKEYBYTES};
};

SecretKey::SecretKey(std::shared_ptr<const Secret> secret, const PublicKey& public_key)
    : secret_(std::move(secret)), public_key_(public_key) {}

SecretKey SecretKey::from_seed(std::span<const std::byte, 32> seed) {
  auto secret = std::make_shared<Secret>();
  std::ranges::copy(seed, secret->seed.bytes().begin());
  PublicKey::Bytes public_key{};
  ::crypto_sign_seed_keypair(writable_data(public_key), secret->key.data(), secret->seed.data());
  return {std::move(secret), PublicKey(public_key)};
}

SecretKey SecretKey::generate() {
  SecretBytes seed(kSeedSize);
  ::randombytes_buf(seed.data(), seed.size());
  return from_seed(std::span<const std::byte, kSeedSize>(seed.bytes()));
}

SecretKey SecretKey::from_file(const std::string& path) {
  const SecretBytes content = read_key_file(path, "secret key file", KeyFile::secret);
  SecretBytes seed(kSeedSize);
  if (!read_line(key_text(content.bytes()), kSecretPrefix, seed.bytes()))
    fail_key("secret key file " + quote(path) + " has no secret key; a secret key is one line of " +
             quote(kSecretPrefix) + " and 44 characters, as `vcap keygen` writes it");
  return from_seed(std::span<const std::byte, kSeedSize>(seed.bytes()));
}

Signature SecretKey::sign(std::span<const std::byte> message) const {
  Signature signature{};
  ::crypto_sign_detached(writable_data(signature), nullptr, unsigned_data(message), message.size(),
                         secret_->key.data());
  return signature;
}

void SecretKey::save(const std::string& path) const {
  constexpr std::size_t kTextSize = sodium_base64_ENCODED_LEN(kSeedSize, kBase64);
  SecretBytes line(kSecretPrefix.size() + kTextSize);
  const auto bytes = line.bytes();
  std::ranges::copy(std::as_bytes(std::span(kSecretPrefix)), bytes.begin());
  ::sodium_bin2base64(reinterpret_cast<char*>(bytes.data()) + kSecretPrefix.size(), kTextSize,
                      secret_->seed.data(), kSeedSize, kBase64);
  bytes.back() = static_cast<std::byte>('\n');  // replaces the terminating zero
  write_key_file(path, bytes, KeyFile::secret);
}

}  // namespace vcap
