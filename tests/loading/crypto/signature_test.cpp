// SPDX-License-Identifier: Apache-2.0
// Keys, the signature block, and signing.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "loading/archive/signature_block.hpp"
#include "loading/opened_capsule.hpp"
#include "loading/signed_capsules.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/loading/encrypt_capsule.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap {
namespace {

using test::secret_key;
using test::signed_by;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// RFC 8032, section 7.1, test 1.
constexpr const char* kRfcSecretKey =
    "vcap-secret-key-1:nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n";
constexpr const char* kRfcPublicKey =
    "vcap-public-key-1:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

std::string hexadecimal_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

TEST(SigningKey, GivesTheSignatureOfThePublishedExample) {
  const TemporaryFolder folder;
  const SecretKey key = SecretKey::from_file(folder.write("a.key", kRfcSecretKey));
  EXPECT_EQ(key.public_key().to_string(), kRfcPublicKey);
  EXPECT_EQ(hexadecimal_of(key.sign({})),
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
  EXPECT_TRUE(key.public_key().verifies({}, key.sign({})));
  EXPECT_FALSE(key.public_key().verifies(test::bytes_of("x"), key.sign({})));
}

TEST(SigningKey, IsNamedByTheDigestOfItsPublicKey) {
  EXPECT_EQ(PublicKey::parse(kRfcPublicKey).id().to_string(), "21fe31dfa154a261");
}

TEST(SigningKey, IsReadFromTheFilesThatItIsSavedTo) {
  const TemporaryFolder folder;
  const SecretKey key = SecretKey::generate();
  key.save(folder / "a.key");
  key.public_key().save(folder / "a.pub");
  EXPECT_EQ(SecretKey::from_file(folder / "a.key").public_key(), key.public_key());
  EXPECT_EQ(PublicKey::from_file(folder / "a.pub"), key.public_key());
  EXPECT_NE(SecretKey::generate().public_key(), key.public_key());
}

TEST(SigningKey, IsSavedReadableByItsOwnerOnly) {
  const TemporaryFolder folder;
  SecretKey::generate().save(folder / "a.key");
  struct stat status {};
  ASSERT_EQ(::stat((folder / "a.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(SigningKey, OverwritesNoFile) {
  const TemporaryFolder folder;
  folder.write("a.key", "mine");
  EXPECT_THAT([&] { SecretKey::generate().save(folder / "a.key"); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("never overwritten")));
  EXPECT_EQ(test::read_file(folder / "a.key"), "mine");
}

TEST(SigningKey, WarnsIfOthersMayReadASecret) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.key", kRfcSecretKey);
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  std::string warning;
  set_log_hook([&](LogLevel, std::string_view line) { warning = line; });
  SecretKey::from_file(path);
  set_log_hook({});
  EXPECT_THAT(warning, AllOf(HasSubstr("a.key"), HasSubstr("chmod 600")));
}

TEST(SigningKey, RefusesTextThatIsNoKey) {
  const std::string good = kRfcPublicKey;
  for (const std::string& text :
       {std::string(), std::string("hello"), good.substr(0, good.size() - 1), good + "A",
        "x" + good, std::string("vcap-public-key-1:") + std::string(43, 'A') + "=",
        std::string(kRfcSecretKey)})
    EXPECT_THAT([&] { PublicKey::parse(text); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_key, HasSubstr("public key")))
        << text;
  const TemporaryFolder folder;
  EXPECT_THAT([&] { SecretKey::from_file(folder.write("a.key", good)); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_key,
                                           AllOf(HasSubstr("a.key"), HasSubstr("vcap keygen"))));
  EXPECT_THAT([&] { SecretKey::from_file(folder / "none"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_key, HasSubstr("No such file")));
  EXPECT_THAT([&] { PublicKey::from_file(folder.write("b", std::string(5000, 'x'))); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_key, HasSubstr("5000 bytes")));
}

TEST(SigningKey, ReadsKeyIdsOfEitherCase) {
  EXPECT_EQ(KeyId::parse("21FE31dfa154a261").to_string(), "21fe31dfa154a261");
  for (const char* const text : {"", "21fe31dfa154a26", "21fe31dfa154a2611", "21fe31dfa154a26g"})
    EXPECT_THAT([&] { KeyId::parse(text); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_key, HasSubstr("16 hexadecimal")));
}

std::vector<KeyId> signers_of(const std::string& file) {
  std::vector<KeyId> ids;
  if (const auto signed_file = read_signed_file(test::bytes_of(file)))
    for (const SignatureBlock::Slot& slot : signed_file->block.slots) ids.push_back(slot.key);
  return ids;
}

TEST(SignCapsule, AddsTheBlockAsTheArchivesComment) {
  const std::string plain = test::codeless_capsule('w');
  const std::string file = signed_by(plain, {secret_key(1)});
  EXPECT_EQ(file.size(), plain.size() + kSignatureBlockSize);
  EXPECT_EQ(file.substr(0, plain.size() - 2), plain.substr(0, plain.size() - 2));
  EXPECT_THAT(signers_of(file), ElementsAre(secret_key(1).public_key().id()));
  EXPECT_THAT(signers_of(plain), ElementsAre());

  const TemporaryFolder folder;
  EXPECT_NO_THROW(verify_capsule(folder.write("a.cap", file)));
}

TEST(SignCapsule, AddsASecondSignatureAndKeepsTheFirst) {
  const std::string plain = test::codeless_capsule('w');
  const std::string file = signed_by(plain, {secret_key(1), secret_key(2)});
  const auto first = read_signed_file(test::bytes_of(file));
  ASSERT_TRUE(first);
  const std::string once_signed = signed_by(plain, {secret_key(1)});
  const auto once = read_signed_file(test::bytes_of(once_signed));
  ASSERT_TRUE(once);
  EXPECT_THAT(signers_of(file),
              ElementsAre(secret_key(1).public_key().id(), secret_key(2).public_key().id()));
  EXPECT_EQ(first->block.slots[0], once->block.slots[0]);
}

TEST(SignCapsule, ReplacesItsOwnSignatureAndRefusesAThirdKey) {
  const TemporaryFolder folder;
  const std::string twice = signed_by(test::codeless_capsule('w'), {secret_key(1), secret_key(2)});
  const auto path = folder.write("a.cap", twice);
  sign_capsule(path, secret_key(1));
  EXPECT_EQ(test::read_file(path), twice);
  EXPECT_THAT(
      [&] { sign_capsule(path, secret_key(3)); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                   AllOf(HasSubstr("a.cap"), HasSubstr("which is the maximum"),
                                         HasSubstr(secret_key(1).public_key().id().to_string()))));
  EXPECT_EQ(test::read_file(path), twice);
}

TEST(SignCapsule, RefusesAFileThatWasChangedSinceItWasSigned) {
  const TemporaryFolder folder;
  std::string file = signed_by(test::codeless_capsule('w'), {secret_key(1)});
  file.back() = static_cast<char>(file.back() ^ 1);
  EXPECT_THAT([&] { sign_capsule(folder.write("a.cap", file), secret_key(2)); },
              ThrowsError<UntrustedCapsuleError>(ErrorCode::bad_signature,
                                                 HasSubstr("changed since it was signed")));
}

TEST(SignCapsule, RefusesAnInvalidCapsule) {
  const TemporaryFolder folder;
  EXPECT_THROW(sign_capsule(folder / "none.cap", secret_key(1)), InvalidCapsuleError);
  EXPECT_THROW(sign_capsule(folder.write("a.cap", "hello"), secret_key(1)), InvalidCapsuleError);
  std::string wrong = test::codeless_capsule('w');
  wrong[wrong.find("wwww")] = 'v';
  EXPECT_THAT([&] { sign_capsule(folder.write("a.cap", wrong), secret_key(1)); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::digest_mismatch, HasSubstr("model.bin")));
  EXPECT_EQ(test::read_file(folder / "a.cap"), wrong);
}

TEST(SignCapsule, RefusesAnEncryptedFile) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.cap", test::codeless_capsule('w'));
  encrypt_capsule(path, path, test::encryption_key(7));
  EXPECT_THAT([&] { sign_capsule(path, secret_key(1)); },
              ThrowsError<UntrustedCapsuleError>(ErrorCode::encrypted_capsule,
                                                 HasSubstr("sign it before encryption")));
}

TEST(SignatureBlock, IsReadOnlyInItsCanonicalForm) {
  const std::string file = signed_by(test::codeless_capsule('w'), {secret_key(1), secret_key(2)});
  const std::string block = file.substr(file.size() - kSignatureBlockSize);
  const auto reads = [](const std::string& bytes) {
    return read_signature_block(test::bytes_of(bytes)).has_value();
  };
  EXPECT_TRUE(reads(block));
  EXPECT_FALSE(reads(""));
  EXPECT_FALSE(reads(block.substr(1)));
  EXPECT_FALSE(reads(block + '\0'));
  const auto with_bytes = [&](std::size_t at, const std::string& bytes) {
    return std::string(block).replace(at, bytes.size(), bytes);
  };
  EXPECT_FALSE(reads(with_bytes(7, "\x02"))) << "another version";
  EXPECT_FALSE(reads(with_bytes(8, std::string(72, '\0')))) << "the first slot empty";
  EXPECT_TRUE(reads(with_bytes(80, std::string(72, '\0')))) << "the second slot empty";
  EXPECT_FALSE(reads(with_bytes(80, std::string(8, '\0')))) << "a signature without a key id";
  EXPECT_FALSE(reads(with_bytes(88, std::string(64, '\0')))) << "a key id without a signature";
  EXPECT_FALSE(reads(with_bytes(80, block.substr(8, 8)))) << "the same key id twice";
}

TEST(SignatureBlock, MustFollowAnEndRecordAtTheEndOfTheFile) {
  const std::string file = signed_by(test::codeless_capsule('w'), {secret_key(1)});
  EXPECT_EQ(signers_of(file).size(), 1u);
  EXPECT_EQ(signers_of(file + "x").size(), 0u);
  EXPECT_EQ(signers_of(file.substr(file.size() - kSignatureBlockSize)).size(), 0u);
  EXPECT_EQ(signers_of(file.substr(file.size() - kSignatureBlockSize - 22)).size(), 1u);
}

}  // namespace
}  // namespace vcap
