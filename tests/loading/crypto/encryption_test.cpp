// SPDX-License-Identifier: Apache-2.0
// Encrypted capsule files, and the errors for those that cannot be opened.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "loading/crypto/encryption_header.hpp"
#include "loading/open_capsule.hpp"
#include "loading/signed_capsules.hpp"
#include "support/throws_error.hpp"
#include "vcap/loading/encrypt_capsule.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

using test::encrypted_by;
using test::encryption_key;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

/// The smallest parameters of Argon2id, so that a test takes less than a second.
constexpr EncryptionSettings kQuick{.chunk_size = 1000, .passes = 1, .memory_kib = 8};

LoadOptions opened_by(const EncryptionKey& key) {
  LoadOptions options;
  options.key = key;
  return options;
}

std::string decrypted_by(const EncryptionKey& key, const std::string& file) {
  const AdmittedFile admitted = admit_capsule(test::bytes_of(file), opened_by(key));
  const auto bytes = admitted.archive->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

PackageContents packed_contents(const TemporaryFolder& folder) {
  return {.libraries = {{std::string(platform()), test::plugin_path("good")}},
          .files = {{"model.onnx", folder.write("model.onnx", "the weights of a model")}}};
}

TEST(EncryptionKey, IsReadFromTheFileThatItIsSavedTo) {
  const TemporaryFolder folder;
  const EncryptionKey key = EncryptionKey::generate();
  key.save(folder / "a.key");
  struct stat status {};
  ASSERT_EQ(::stat((folder / "a.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(status.st_size, 32);
  const EncryptionKey read = EncryptionKey::from_file(folder / "a.key");
  EXPECT_EQ(decrypted_by(read, encrypted_by(key, "text", kQuick)), "text");
  EXPECT_THAT([&] { key.save(folder / "a.key"); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("never overwritten")));
}

TEST(EncryptionKey, RefusesInvalidKeys) {
  const TemporaryFolder folder;
  const auto refuses = [](const char* message) {
    return ThrowsError<InvalidArgument>(ErrorCode::invalid_key, HasSubstr(message));
  };
  EXPECT_THAT([] { EncryptionKey::from_bytes({}); }, refuses("has 0 bytes"));
  EXPECT_THAT([&] { EncryptionKey::from_file(folder.write("a", std::string(33, 'x'))); },
              refuses("has 33 bytes"));
  EXPECT_THAT([&] { EncryptionKey::from_file(folder / "none"); }, refuses("No such file"));
  EXPECT_THAT([&] { EncryptionKey::from_file(folder.path()); }, refuses("not a regular file"));
  EXPECT_THAT([] { EncryptionKey::from_passphrase(""); }, refuses("is empty"));
  EXPECT_THAT([&] { EncryptionKey::from_passphrase_file(folder.write("b", "\nsecond")); },
              refuses("first line"));
  EXPECT_THAT([&] { EncryptionKey::from_passphrase("x").save(folder / "c"); },
              refuses("cannot be saved"));
}

TEST(EncryptionKey, ReadsTheFirstLineOfAPassphraseFile) {
  const TemporaryFolder folder;
  const std::string file =
      encrypted_by(EncryptionKey::from_passphrase("correct horse"), "text", kQuick);
  for (const char* const text : {"correct horse", "correct horse\n", "correct horse\r\nmore\n"})
    EXPECT_EQ(decrypted_by(EncryptionKey::from_passphrase_file(folder.write("a", text)), file),
              "text");
}

TEST(Encryption, DecryptsWhatItEncryptedAtEverySizeAroundAChunk) {
  const EncryptionKey key = encryption_key(7);
  for (const std::size_t size : {0u, 1u, 999u, 1000u, 1001u, 1999u, 2000u, 2001u, 10'000u}) {
    const std::string content(size, 'w');
    const std::string file = encrypted_by(key, content, kQuick);
    EXPECT_EQ(decrypted_by(key, file), content) << size;
    EXPECT_EQ(file.find("www"), file.npos) << size;
  }
}

TEST(Encryption, WritesDifferentBytesEachTime) {
  const EncryptionKey key = encryption_key(7);
  EXPECT_NE(encrypted_by(key, "text", kQuick), encrypted_by(key, "text", kQuick));
}

TEST(Encryption, MakesTheSameChunksForAnySplitOfTheInput) {
  std::size_t size = 0;
  EncryptingWriter writer([&](EncryptingWriter::Bytes bytes) { size += bytes.size(); },
                          encryption_key(7), kQuick);
  const std::string content(2500, 'w');
  for (std::size_t at = 0; at < content.size(); at += 7)
    writer.write(test::bytes_of(content).subspan(at, std::min<std::size_t>(7, 2500 - at)));
  writer.finish();
  EXPECT_EQ(size, encrypted_by(encryption_key(7), content, kQuick).size());
}

TEST(EncryptedCapsule, IsPackedLoadedReadAndUnpackedWithItsKey) {
  const TemporaryFolder folder;
  const EncryptionKey key = encryption_key(7);
  const auto path = folder / "a.cap";
  package_capsule(packed_contents(folder), path, {.key = key});
  EXPECT_EQ(test::read_file(path).find("capsule.json"), std::string::npos);
  EXPECT_EQ(test::read_file(path).find("the weights"), std::string::npos);

  const LoadOptions options = opened_by(key);
  EXPECT_EQ(load_capsule(path, options)->info().name, "fixture");
  const std::string bytes = test::read_file(path);
  EXPECT_EQ(load_capsule(test::bytes_of(bytes), options)->info().name, "fixture");
  EXPECT_EQ(read_manifest(path, options).info.name, "fixture");
  EXPECT_NO_THROW(verify_capsule(path, options));
  unpackage_capsule(path, folder / "out", options);
  EXPECT_EQ(test::read_file(folder / "out/model.onnx"), "the weights of a model");
}

TEST(EncryptedCapsule, AcceptsAPassphrase) {
  const TemporaryFolder folder;
  const EncryptionKey key = EncryptionKey::from_passphrase("correct horse battery staple");
  package_capsule(packed_contents(folder), folder / "a.cap", {.key = key});
  EXPECT_EQ(read_manifest(folder / "a.cap", opened_by(key)).info.name, "fixture");
}

TEST(EncryptedCapsule, KeepsTheSignatureInside) {
  const TemporaryFolder folder;
  const SecretKey signer = test::secret_key(1);
  const auto path = folder.write("a.cap", test::signed_by(test::codeless_capsule('w'), {signer}));
  encrypt_capsule(path, folder / "b.cap", encryption_key(7));
  LoadOptions options = opened_by(encryption_key(7));
  options.trust = {.require_signature = true, .keys = {signer.public_key()}};
  EXPECT_EQ(verify_signature(folder / "b.cap", options).size(), 1u);
  EXPECT_EQ(read_manifest(folder / "b.cap", options).info.name, "fixture");

  options.trust.keys = {test::secret_key(2).public_key()};
  EXPECT_THAT([&] { read_manifest(folder / "b.cap", options); },
              ThrowsError<UntrustedCapsuleError>(ErrorCode::unknown_key, HasSubstr("b.cap")));
  EXPECT_THAT([&] { encrypt_capsule(folder / "b.cap", folder / "c.cap", encryption_key(7)); },
              ThrowsError<UntrustedCapsuleError>(ErrorCode::encrypted_capsule,
                                                 HasSubstr("encrypted already")));
}

TEST(EncryptedCapsule, NamesTheRemedyIfNoKeyIsGiven) {
  const TemporaryFolder folder;
  const auto path =
      folder.write("a.cap", encrypted_by(encryption_key(7), test::codeless_capsule('w'), kQuick));
  try {
    load_capsule(path);
    ADD_FAILURE() << "loaded";
  } catch (const UntrustedCapsuleError& error) {
    EXPECT_EQ(error.code(), ErrorCode::encrypted_capsule);
    EXPECT_EQ(error.stage(), LoadStage::decryption);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("a.cap"), HasSubstr("LoadOptions::key"), HasSubstr("--key-file")));
  }
}

TEST(EncryptedCapsule, ReportsAWrongKey) {
  const std::string content = test::codeless_capsule('w');
  const auto refuses = [](const char* message) {
    return ThrowsError<UntrustedCapsuleError>(ErrorCode::wrong_key, HasSubstr(message));
  };
  const auto phrase = EncryptionKey::from_passphrase("correct");
  const std::string by_key = encrypted_by(encryption_key(7), content, kQuick);
  const std::string by_phrase = encrypted_by(phrase, content, kQuick);
  EXPECT_THAT([&] { decrypted_by(encryption_key(8), by_key); }, refuses("is the wrong key"));
  EXPECT_THAT([&] { decrypted_by(EncryptionKey::from_passphrase("corrupt"), by_phrase); },
              refuses("is the wrong key"));
  EXPECT_THAT([&] { decrypted_by(phrase, by_key); }, refuses("a passphrase is given"));
  EXPECT_THAT([&] { decrypted_by(encryption_key(7), by_phrase); }, refuses("a key is given"));
}

TEST(EncryptedCapsule, OpensAPlainCapsuleEvenIfAKeyIsGiven) {
  const std::string plain = test::codeless_capsule('w');
  EXPECT_EQ(decrypted_by(encryption_key(7), plain), plain);
}

TEST(EncryptedCapsule, IsRefusedIfLargerThanTheLimits) {
  LoadOptions options = opened_by(encryption_key(7));
  options.limits.total_bytes = 2000;
  const std::string file = encrypted_by(encryption_key(7), std::string(2001, 'w'), kQuick);
  EXPECT_THAT([&] { admit_capsule(test::bytes_of(file), options); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::limit_exceeded,
                                               HasSubstr("ArchiveLimits::total_bytes")));
}

TEST(EncryptionHeader, IsReadAsItIsWritten) {
  EncryptionHeader header{.mode = EncryptionHeader::Mode::passphrase,
                          .chunk_size = 65536,
                          .passes = 3,
                          .memory_kib = 262144};
  header.salt.fill(std::byte{1});
  header.stream_header.fill(std::byte{2});
  const auto bytes = encryption_header_bytes(header);
  EXPECT_TRUE(is_encrypted(bytes));
  EXPECT_EQ(read_encryption_header(bytes, "the capsule"), header);
}

struct WrongHeader {
  const char* title;
  EncryptionHeader header;
  const char* message;

  friend void PrintTo(const WrongHeader& one, std::ostream* out) { *out << one.title; }
};

class AWrongEncryptionHeader : public testing::TestWithParam<WrongHeader> {};

TEST_P(AWrongEncryptionHeader, IsRefusedBeforeAnythingIsAllocated) {
  const auto bytes = encryption_header_bytes(GetParam().header);
  EXPECT_THAT([&] { read_encryption_header(bytes, "the capsule"); },
              ThrowsError<UntrustedCapsuleError>(ErrorCode::damaged_encryption,
                                                 HasSubstr(GetParam().message)));
}

constexpr EncryptionHeader phrase_header(std::uint32_t passes, std::uint32_t memory_kib) {
  return {.mode = EncryptionHeader::Mode::passphrase,
          .chunk_size = 1000,
          .passes = passes,
          .memory_kib = memory_kib};
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, AWrongEncryptionHeader,
    testing::Values(
        WrongHeader{"NoChunk", {.chunk_size = 0}, "chunk size is 0"},
        WrongHeader{"HugeChunk", {.chunk_size = kLargestChunk + 1}, "chunk size is 1048577"},
        WrongHeader{"NoPass", phrase_header(0, 8), "passes is 0"},
        WrongHeader{"TooManyPasses", phrase_header(kMostPasses + 1, 8), "passes is 9"},
        WrongHeader{"TooLittleMemory", phrase_header(1, 7), "memory for Argon2id is 7"},
        WrongHeader{"TooMuchMemory", phrase_header(1, kMostMemoryKib + 1), "is 524289"},
        WrongHeader{"PassesForAKey", {.chunk_size = 1, .passes = 1}, "passphrase settings"},
        WrongHeader{"OfAnotherMode",
                    {.mode = static_cast<EncryptionHeader::Mode>(2), .chunk_size = 1},
                    "mode is 2"}),
    [](const auto& test_info) { return test_info.param.title; });

TEST(EncryptionHeader, AsksForANewerVcapIfItsVersionIsNewer) {
  auto bytes = encryption_header_bytes({.chunk_size = 1000});
  bytes[7] = std::byte{2};
  EXPECT_THAT([&] { read_encryption_header(bytes, "the capsule"); },
              ThrowsError<IncompatibleCapsuleError>(ErrorCode::unsupported_format_version,
                                                    HasSubstr("update vcap")));
}

}  // namespace
}  // namespace vcap
