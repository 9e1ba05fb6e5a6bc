// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "loading/capsule_builder.hpp"
#include "loading/crypto/encryption.hpp"
#include "vcap/loading/sign_capsule.hpp"

/// Keys that are the same in every run, and capsules that are signed or encrypted with them.
namespace vcap::test {

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// The secret key whose 32 bytes all have this value.
inline SecretKey secret_key(std::uint8_t value) {
  // Base64: groups of three equal bytes, then the last two bytes.
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "vcap-secret-key-1:";
  const unsigned three = value * 0x010101u;
  for (int group = 0; group < 11; ++group)
    for (const unsigned shift : {18u, 12u, 6u, 0u}) text += kDigits[three >> shift & 63];
  text.resize(text.size() - 2);
  text += kDigits[(value & 15u) << 2];
  text += '=';
  const TemporaryFolder folder;
  const auto path = folder.write("a.key", text);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  return SecretKey::from_file(path);
}

/// The capsule file, signed with each of the keys.
inline std::string signed_by(const std::string& capsule, const std::vector<SecretKey>& keys) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.cap", capsule);
  for (const SecretKey& key : keys) sign_capsule(path, key);
  return read_file(path);
}

inline EncryptionKey encryption_key(std::uint8_t value) {
  std::array<std::byte, EncryptionKey::kSize> bytes{};
  bytes.fill(std::byte{value});
  return EncryptionKey::from_bytes(bytes);
}

inline std::string encrypted_by(const EncryptionKey& key, const std::string& content,
                                const EncryptionSettings& settings) {
  std::string result;
  EncryptingWriter writer(
      [&result](EncryptingWriter::Bytes bytes) {
        result.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      },
      key, settings);
  writer.write(bytes_of(content));
  writer.finish();
  return result;
}

/// A sound capsule of a few kilobytes whose library is no code. Capsules differ by `content`.
inline std::string codeless_capsule(char content, int version = 1) {
  return CapsuleBuilder("no code at all", fixture::info("fixture", version))
      .file("labels.txt", "person\nface\n")
      .file("model.bin", std::string(2000, content))
      .bytes();
}

inline LoadOptions trusting(TrustPolicy policy) {
  LoadOptions options;
  options.trust = std::move(policy);
  return options;
}

}  // namespace vcap::test
