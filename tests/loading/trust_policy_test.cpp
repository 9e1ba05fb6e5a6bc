// SPDX-License-Identifier: Apache-2.0
// Which capsules a TrustPolicy accepts.
#include <gmock/gmock.h>

#include <optional>
#include <ostream>

#include "files/digest.hpp"
#include "loading/archive/signature_block.hpp"
#include "loading/open_capsule.hpp"
#include "loading/signed_capsules.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

using test::secret_key;
using test::signed_by;
using test::TemporaryFolder;
using test::trusting;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Verdict = CapsuleSignature::Verdict;

PublicKey public_key(std::uint8_t value) { return secret_key(value).public_key(); }
KeyId id_of_key(std::uint8_t value) { return public_key(value).id(); }

std::string signed_capsule(const std::vector<std::uint8_t>& signers) {
  std::vector<SecretKey> keys;
  for (const std::uint8_t signer : signers) keys.push_back(secret_key(signer));
  return signed_by(test::codeless_capsule('w'), keys);
}

struct TrustCase {
  const char* title;
  std::vector<std::uint8_t> signers;
  bool require_signature;
  std::vector<std::uint8_t> keys;
  std::vector<std::uint8_t> revoked;
  std::optional<ErrorCode> refused;  ///< nullopt: accepted
  const char* message = "";

  TrustPolicy policy() const {
    TrustPolicy result{.require_signature = require_signature};
    for (const std::uint8_t key : keys) result.keys.push_back(public_key(key));
    for (const std::uint8_t key : revoked) result.revoked.insert(id_of_key(key));
    return result;
  }
  friend void PrintTo(const TrustCase& one, std::ostream* out) { *out << one.title; }
};

class ATrustPolicy : public testing::TestWithParam<TrustCase> {};

TEST_P(ATrustPolicy, AcceptsOrRefusesAFile) {
  const TrustCase& one = GetParam();
  const TemporaryFolder folder;
  const std::string bytes = signed_capsule(one.signers);
  const auto path = folder.write("a.cap", bytes);
  const LoadOptions options = trusting(one.policy());
  if (!one.refused) {
    EXPECT_EQ(verify_signature(path, options).size(), one.signers.size());
    EXPECT_EQ(verify_signature(test::bytes_of(bytes), options).size(), one.signers.size());
    EXPECT_NO_THROW(read_manifest(path, options));
    return;
  }
  const auto refuses = ThrowsError<UntrustedCapsuleError>(*one.refused, HasSubstr(one.message));
  EXPECT_THAT([&] { load_capsule(path, options); }, refuses);
  EXPECT_THAT([&] { load_capsule(test::bytes_of(bytes), options); }, refuses);
  EXPECT_THAT([&] { read_manifest(path, options); }, refuses);
  EXPECT_THAT([&] { verify_capsule(path, options); }, refuses);
  EXPECT_THAT([&] { verify_signature(path, options); }, refuses);
  EXPECT_THAT([&] { unpackage_capsule(path, folder / "out", options); }, refuses);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ATrustPolicy,
    testing::Values(
        TrustCase{"DefaultUnsigned", {}, false, {}, {}, {}},
        TrustCase{"DefaultSigned", {1}, false, {}, {}, {}},
        TrustCase{"KnownKeyButNotRequired", {}, false, {1}, {}, {}},
        TrustCase{"SignedByTheKnownKey", {1}, false, {1}, {}, {}},
        TrustCase{"SignedByAnotherButNotRequired", {2}, false, {1}, {}, {}},
        TrustCase{"RequiredAndSigned", {1}, true, {1}, {}, {}},
        TrustCase{"RequiredAndSecondSignatureCounts", {1, 2}, true, {2}, {}, {}},
        TrustCase{"RequiredAndFirstSignatureCounts", {1, 2}, true, {1, 3}, {}, {}},
        TrustCase{"RotatedAwayFromARevokedKey", {1, 2}, true, {1, 2}, {1}, {}},
        TrustCase{"RequiredAndUnsigned",
                  {},
                  true,
                  {1},
                  {},
                  ErrorCode::unsigned_capsule,
                  "sign it with `vcap sign`"},
        TrustCase{
            "RequiredAndUnknown", {2}, true, {1}, {}, ErrorCode::unknown_key, "TrustPolicy::keys"},
        TrustCase{"RequiredWithoutAnyKey", {2}, true, {}, {}, ErrorCode::unknown_key, "(none)"},
        TrustCase{"RequiredAndRevoked", {1}, true, {1}, {1}, ErrorCode::revoked_key, "is revoked"},
        TrustCase{"RevokedButNotRequired", {1}, false, {1}, {1}, ErrorCode::revoked_key, ""},
        TrustCase{"RevokedOfAnUnknownKey", {1}, false, {}, {1}, ErrorCode::revoked_key, ""},
        TrustCase{"RevokedBesideAnUnknownKey", {1, 2}, true, {3}, {1}, ErrorCode::revoked_key, ""}),
    [](const auto& test_info) { return test_info.param.title; });

TEST(TrustPolicy, NamesTheRefusedAndTheTrustedKeys) {
  const std::string bytes = signed_capsule({2});
  EXPECT_THAT(
      [&] {
        load_capsule(test::bytes_of(bytes),
                     trusting({.require_signature = true, .keys = {public_key(1)}}));
      },
      ThrowsError<UntrustedCapsuleError>(
          ErrorCode::unknown_key,
          AllOf(HasSubstr(id_of_key(1).to_string()), HasSubstr(id_of_key(2).to_string()))));
}

TEST(TrustPolicy, GivesAVerdictOnEachSignature) {
  const std::string bytes = signed_capsule({1, 2});
  const auto one_known =
      verify_signature(test::bytes_of(bytes), trusting({.keys = {public_key(1)}}));
  EXPECT_THAT(one_known, ElementsAre(CapsuleSignature{id_of_key(1), Verdict::valid},
                                     CapsuleSignature{id_of_key(2), Verdict::unknown}));
  const auto one_revoked = verify_signature(
      test::bytes_of(bytes), trusting({.keys = {public_key(1)}, .revoked = {id_of_key(2)}}));
  EXPECT_THAT(one_revoked, ElementsAre(CapsuleSignature{id_of_key(1), Verdict::valid},
                                       CapsuleSignature{id_of_key(2), Verdict::revoked}));
}

TEST(TrustPolicy, RefusesAWrongSignatureByAKnownKeyInEveryMode) {
  // The signature block of one capsule behind the content of another, with a matching checksum.
  const std::string one = signed_capsule({1});
  const std::string other = signed_by(test::codeless_capsule('v'), {secret_key(1)});
  const auto block_of_other = read_signed_file(test::bytes_of(other));
  ASSERT_TRUE(block_of_other);
  const auto content = test::bytes_of(one).first(one.size() - kSignatureBlockSize);
  const auto block = signature_block_bytes(block_of_other->block.slots, sha256(content));
  std::string forged(one.substr(0, content.size()));
  forged.append(reinterpret_cast<const char*>(block.data()), block.size());
  for (const bool is_required : {false, true})
    EXPECT_THAT(
        [&] {
          load_capsule(test::bytes_of(forged),
                       trusting({.require_signature = is_required, .keys = {public_key(1)}}));
        },
        ThrowsError<UntrustedCapsuleError>(
            ErrorCode::bad_signature,
            AllOf(HasSubstr(id_of_key(1).to_string()), HasSubstr("get it again"))));
}

TEST(TrustPolicy, LogsThatACapsuleWithoutATrustedSignatureWasAccepted) {
  const std::string plain = test::codeless_capsule('w');
  const std::string by_stranger = signed_capsule({2});
  std::vector<std::string> lines;
  set_log_hook([&](LogLevel level, std::string_view line) {
    EXPECT_EQ(level, LogLevel::info);
    lines.emplace_back(line);
  });
  open_capsule(test::bytes_of(plain), {});
  open_capsule(test::bytes_of(by_stranger), trusting({.keys = {public_key(1)}}));
  set_log_hook({});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("is not signed; accepted"),
                                 AllOf(HasSubstr(id_of_key(2).to_string()),
                                       HasSubstr("is not checked; accepted"))));
}

TEST(TrustPolicy, LogsNothingForACapsuleWithATrustedSignature) {
  const std::string bytes = signed_capsule({1});
  std::vector<std::string> lines;
  set_log_hook([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  open_capsule(test::bytes_of(bytes), trusting({.keys = {public_key(1)}}));
  set_log_hook({});
  EXPECT_THAT(lines, IsEmpty());
}

TEST(TrustPolicy, RefusesAVersionBelowTheMinimum) {
  const auto refused = [](int version, int minimum) {
    const std::string bytes = test::codeless_capsule('w', version);
    try {
      open_capsule(test::bytes_of(bytes), trusting({.minimum_versions = {{"fixture", minimum}}}));
      return false;
    } catch (const UntrustedCapsuleError& error) {
      EXPECT_EQ(error.code(), ErrorCode::version_rollback);
      EXPECT_EQ(error.stage(), LoadStage::trust);
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("version 2 of \"fixture\""), HasSubstr("the minimum is 3")));
      return true;
    }
  };
  EXPECT_TRUE(refused(2, 3));
  EXPECT_FALSE(refused(3, 3));
  EXPECT_FALSE(refused(4, 3));
}

TEST(TrustPolicy, AppliesAMinimumVersionOnlyToItsCapsule) {
  const std::string bytes = test::codeless_capsule('w');
  EXPECT_NO_THROW(
      open_capsule(test::bytes_of(bytes), trusting({.minimum_versions = {{"other", 9}}})));
}

TEST(TrustPolicy, LoadsTheBytesThatItHasChecked) {
  const TemporaryFolder folder;
  const std::string bytes = signed_capsule({1});
  const auto path = folder.write("a.cap", bytes);
  const AdmittedFile admitted =
      admit_capsule(path, trusting({.require_signature = true, .keys = {public_key(1)}}));
  // Overwrites the same file in place.
  folder.write("a.cap", std::string(bytes.size(), 'x'));
  const auto kept = admitted.archive->bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(kept.data()), kept.size()), bytes);
}

TEST(TrustPolicy, CopiesNoFileLargerThanTheLimits) {
  const TemporaryFolder folder;
  LoadOptions options = trusting({.keys = {public_key(1)}});
  options.limits.total_bytes = 1000;
  EXPECT_THAT([&] { read_manifest(folder.write("a.cap", signed_capsule({1})), options); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::limit_exceeded,
                                               HasSubstr("ArchiveLimits::total_bytes")));
}

TEST(TrustPolicy, ReportsItsStage) {
  const std::string plain = test::codeless_capsule('w');
  try {
    load_capsule(test::bytes_of(plain), trusting({.require_signature = true}));
    ADD_FAILURE() << "loaded";
  } catch (const UntrustedCapsuleError& error) {
    EXPECT_EQ(error.stage(), LoadStage::trust);
  }
}

/// Loads a capsule as a host would, with keys from files.
std::shared_ptr<Capsule> load_trusted(const std::filesystem::path& keys,
                                      const std::filesystem::path& file) {
  // [load-trusted]
  vcap::LoadOptions options;
  options.trust.require_signature = true;
  options.trust.keys = {vcap::PublicKey::from_file(keys / "release.pub"),
                        vcap::PublicKey::from_file(keys / "next_release.pub")};
  options.trust.revoked = {vcap::KeyId::parse("21fe31dfa154a261")};
  options.trust.minimum_versions = {{"detector_person", 4}};
  options.key = vcap::EncryptionKey::from_file(keys / "at_rest.key");  // for encrypted ones
  const std::shared_ptr<vcap::Capsule> capsule = vcap::load_capsule(file, options);
  // [/load-trusted]
  return capsule;
}

TEST(TrustPolicy, WorksAsTheDocumentationShows) {
  const TemporaryFolder folder;
  public_key(1).save(folder / "release.pub");
  public_key(2).save(folder / "next_release.pub");
  test::encryption_key(7).save(folder / "at_rest.key");
  const auto path =
      folder.write("a.cap", signed_by(test::CapsuleBuilder().bytes(), {secret_key(2)}));
  EXPECT_EQ(load_trusted(folder.path(), path)->info().name, "fixture");
}

TEST(TrustPolicy, LoadsTheCodeOfASignedCapsule) {
  const TemporaryFolder folder;
  const auto path =
      folder.write("a.cap", signed_by(test::CapsuleBuilder().bytes(), {secret_key(1)}));
  const auto capsule =
      load_capsule(path, trusting({.require_signature = true, .keys = {public_key(1)}}));
  EXPECT_EQ(capsule->info().name, "fixture");
}

}  // namespace
}  // namespace vcap
