// SPDX-License-Identifier: Apache-2.0
// Signed and encrypted capsules that were changed, cut or spliced: vcap must refuse them all.
#include <gtest/gtest.h>

#include <algorithm>

#include "loading/archive/signature_block.hpp"
#include "loading/open_capsule.hpp"
#include "loading/signed_capsules.hpp"
#include "support/sanitizers.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using test::secret_key;
using test::signed_by;

/// Whether the archive in the file would be read. Any exception but vcap's own fails the test.
bool is_admitted(const std::string& file, const LoadOptions& options) {
  try {
    admit_capsule(test::bytes_of(file), options);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether loading would reach the capsule's code.
bool is_opened(const std::string& file, const LoadOptions& options) {
  try {
    open_capsule(test::bytes_of(file), options).verify();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string with_bit_flipped(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  return bytes;
}

LoadOptions requiring(std::vector<PublicKey> keys) {
  return test::trusting({.require_signature = true, .keys = std::move(keys)});
}

LoadOptions requiring_one() { return requiring({secret_key(1).public_key()}); }

/// The number of parts of a sweep, which can run in parallel.
constexpr std::size_t kParts = 4;

class TamperedSweep : public testing::TestWithParam<std::size_t> {};

TEST_P(TamperedSweep, RefusesEveryFlippedBitOfASignedCapsule) {
  const std::string good = signed_by(test::codeless_capsule('w'), {secret_key(1)});
  ASSERT_LE(good.size(), 24u << 10);
  const LoadOptions options = requiring_one();
  ASSERT_TRUE(is_admitted(good, options));
  std::size_t accepted = 0;
  for (std::size_t bit = GetParam(); bit < good.size() * 8; bit += kParts * test::kSweepStep)
    if (is_admitted(with_bit_flipped(good, bit), options)) ++accepted;
  EXPECT_EQ(accepted, 0u);
}

TEST_P(TamperedSweep, RefusesEveryFlippedBitOfACapsuleThatAnUnknownKeyAlsoSigned) {
  const std::string good = signed_by(test::codeless_capsule('w'), {secret_key(1), secret_key(2)});
  const LoadOptions options = requiring_one();
  ASSERT_TRUE(is_admitted(good, options));
  std::size_t accepted = 0;
  const std::size_t begin = (good.size() - kSignatureBlockSize - 22) * 8;
  for (std::size_t bit = begin + GetParam(); bit < good.size() * 8;
       bit += kParts * test::kSweepStep)
    if (is_admitted(with_bit_flipped(good, bit), options)) ++accepted;
  EXPECT_EQ(accepted, 0u);
}

TEST_P(TamperedSweep, RefusesEveryFlippedBitIfTheSignerIsKnownButNotRequired) {
  const std::string good = signed_by(test::codeless_capsule('w'), {secret_key(1)});
  const LoadOptions options = test::trusting({.keys = {secret_key(1).public_key()}});
  ASSERT_TRUE(is_opened(good, options));
  std::size_t accepted = 0;
  for (std::size_t bit = GetParam(); bit < good.size() * 8; bit += kParts * test::kSweepStep)
    if (is_opened(with_bit_flipped(good, bit), options)) ++accepted;
  EXPECT_EQ(accepted, 0u);
}

TEST_P(TamperedSweep, RefusesEveryFlippedBitOfAnEncryptedCapsule) {
  const EncryptionKey key = test::encryption_key(7);
  const std::string good =
      test::encrypted_by(key, test::codeless_capsule('w'), {.chunk_size = 512});
  LoadOptions options;
  options.key = key;
  ASSERT_TRUE(is_opened(good, options));
  std::size_t accepted = 0;
  for (std::size_t bit = GetParam(); bit < good.size() * 8; bit += kParts * test::kSweepStep)
    if (is_opened(with_bit_flipped(good, bit), options)) ++accepted;
  EXPECT_EQ(accepted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Parts, TamperedSweep, testing::Range<std::size_t>(0, kParts));

TEST(TamperedCapsule, IsRefusedAtEveryOtherLength) {
  const std::string good = signed_by(test::codeless_capsule('w'), {secret_key(1)});
  const LoadOptions options = requiring_one();
  for (std::size_t size = 0; size < good.size(); size += test::kSweepStep)
    EXPECT_FALSE(is_admitted(good.substr(0, size), options)) << size;
  EXPECT_FALSE(is_admitted(good + '\0', options));
  EXPECT_FALSE(is_admitted(good + good, options));
  EXPECT_FALSE(is_admitted('\0' + good, options));
}

TEST(TamperedCapsule, IsRefusedAsASpliceOfTwoSignedCapsules) {
  const LoadOptions options = requiring({secret_key(1).public_key()});
  // The host does not know the second key.
  const std::string one = signed_by(test::codeless_capsule('w'), {secret_key(1), secret_key(2)});
  const std::string other = signed_by(test::codeless_capsule('v'), {secret_key(1), secret_key(2)});
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t at = 0; at <= one.size(); at += test::kSweepStep) {
    const std::string spliced = one.substr(0, at) + other.substr(at);
    if (spliced != one && spliced != other) {
      EXPECT_FALSE(is_admitted(spliced, options)) << at;
    }
  }
}

TEST(TamperedCapsule, IsRefusedAsASpliceOfCapsulesOfTwoSizes) {
  const LoadOptions options = requiring_one();
  const std::string one = signed_by(test::codeless_capsule('w'), {secret_key(1)});
  const std::string other = signed_by(
      test::CapsuleBuilder("no code at all", fixture::info("fixture")).bytes(), {secret_key(1)});
  ASSERT_NE(one.size(), other.size());
  for (std::size_t at = 0; at <= std::min(one.size(), other.size()); ++at) {
    // Splices at equal distances from the beginning, and from the end.
    for (const std::string& spliced :
         {one.substr(0, at) + other.substr(at), other.substr(0, at) + one.substr(at),
          one.substr(0, one.size() - at) + other.substr(other.size() - at),
          other.substr(0, other.size() - at) + one.substr(one.size() - at)})
      if (spliced != one && spliced != other) {
        EXPECT_FALSE(is_admitted(spliced, options)) << at;
      }
  }
}

TEST(TamperedCapsule, IsRefusedIfSignaturesAreMovedCopiedOrRemoved) {
  const LoadOptions options = requiring({secret_key(1).public_key(), secret_key(2).public_key()});
  const std::string good = signed_by(test::codeless_capsule('w'), {secret_key(1), secret_key(2)});
  const std::size_t slots = good.size() - kSignatureBlockSize + 8;
  const std::string first = good.substr(slots, 72);
  const std::string second = good.substr(slots + 72, 72);
  const auto with_slots = [&](const std::string& bytes) {
    return std::string(good).replace(slots, bytes.size(), bytes);
  };
  ASSERT_TRUE(is_admitted(with_slots(first + second), options));
  EXPECT_FALSE(is_admitted(with_slots(second + first), options));
  EXPECT_FALSE(is_admitted(with_slots(first + first), options));
  EXPECT_FALSE(is_admitted(with_slots(first + std::string(72, '\0')), options));
  EXPECT_FALSE(is_admitted(with_slots(std::string(72, '\0') + second), options));
  EXPECT_FALSE(is_admitted(
      with_slots(first.substr(0, 8) + second.substr(8) + second.substr(0, 8) + first.substr(8)),
      options));
}

/// An encrypted capsule in parts: the header, and chunks of 512 bytes of content.
class TamperedEncryption : public testing::Test {
 protected:
  static constexpr std::size_t kHeader = 64;
  static constexpr std::size_t kChunk = 512 + 17;

  TamperedEncryption() { options_.key = key_; }

  std::vector<std::string> parts(const std::string& file) const {
    std::vector<std::string> result{file.substr(0, kHeader)};
    for (std::size_t at = kHeader; at < file.size(); at += kChunk)
      result.push_back(file.substr(at, kChunk));
    return result;
  }
  bool is_let_in(const std::vector<std::string>& parts) const {
    std::string file;
    for (const std::string& part : parts) file += part;
    return is_admitted(file, options_);
  }

  EncryptionKey key_ = test::encryption_key(7);
  LoadOptions options_{};
  std::string good_ = test::encrypted_by(key_, test::codeless_capsule('w'), {.chunk_size = 512});
};

TEST_F(TamperedEncryption, IsRefusedAtEveryOtherLength) {
  ASSERT_TRUE(is_admitted(good_, options_));
  // Seven bytes or less do not show that the file was encrypted, but they are no archive either.
  for (std::size_t size = 0; size < good_.size(); size += test::kSweepStep)
    EXPECT_FALSE(is_opened(good_.substr(0, size), options_)) << size;
  for (std::size_t size = 1; size < 2 * kChunk; size += test::kSweepStep)
    EXPECT_FALSE(is_admitted(good_ + std::string(size, '\0'), options_)) << size;
  EXPECT_FALSE(is_admitted(good_ + good_, options_));
}

TEST_F(TamperedEncryption, IsRefusedIfAChunkIsMovedLeftOutOrRepeated) {
  const std::vector<std::string> whole = parts(good_);
  ASSERT_GT(whole.size(), 5u);
  ASSERT_TRUE(is_let_in(whole));
  for (std::size_t i = 1; i < whole.size(); ++i) {
    for (std::size_t j = i + 1; j < whole.size(); ++j) {
      auto swapped = whole;
      std::swap(swapped[i], swapped[j]);
      EXPECT_FALSE(is_let_in(swapped)) << i << ' ' << j;
    }
    auto without = whole;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(is_let_in(without)) << i;
    auto repeated = whole;
    repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    EXPECT_FALSE(is_let_in(repeated)) << i;
  }
}

TEST_F(TamperedEncryption, IsRefusedAsASpliceOfTwoFilesOfOneKey) {
  const std::string other =
      test::encrypted_by(key_, test::codeless_capsule('v'), {.chunk_size = 512});
  ASSERT_EQ(good_.size(), other.size());
  for (std::size_t at = 0; at <= good_.size(); at += test::kSweepStep) {
    const std::string spliced = good_.substr(0, at) + other.substr(at);
    if (spliced != good_ && spliced != other) {
      EXPECT_FALSE(is_admitted(spliced, options_)) << at;
    }
  }
}

TEST_F(TamperedEncryption, SaysWhereAFileIsDamaged) {
  const auto code_of = [&](const std::string& file) {
    try {
      admit_capsule(test::bytes_of(file), options_);
    } catch (const UntrustedCapsuleError& error) {
      EXPECT_EQ(error.stage(), LoadStage::decryption);
      return error.code();
    }
    return ErrorCode::invalid_argument;
  };
  EXPECT_EQ(code_of(with_bit_flipped(good_, 8 * (kHeader + 3))), ErrorCode::wrong_key);
  EXPECT_EQ(code_of(with_bit_flipped(good_, 8 * (kHeader + kChunk))),
            ErrorCode::damaged_encryption);
  EXPECT_EQ(code_of(good_.substr(0, good_.size() - 1)), ErrorCode::damaged_encryption);
  EXPECT_EQ(code_of(good_.substr(0, kHeader + 2 * kChunk)), ErrorCode::damaged_encryption);
  EXPECT_EQ(code_of(good_ + "x"), ErrorCode::damaged_encryption);
  EXPECT_EQ(code_of(good_.substr(0, kHeader)), ErrorCode::damaged_encryption);
}

TEST(TamperedPassphraseHeader, RefusesEveryFlippedBit) {
  const auto key = EncryptionKey::from_passphrase("correct horse");
  const std::string good =
      test::encrypted_by(key, "some text", {.chunk_size = 512, .passes = 1, .memory_kib = 8});
  LoadOptions options;
  options.key = key;
  ASSERT_TRUE(is_admitted(good, options));
  // Without its magic number, it is not decrypted, and then refused, since it is no archive.
  for (std::size_t bit = 0; bit < good.size() * 8; bit += test::kSweepStep)
    EXPECT_FALSE(is_opened(with_bit_flipped(good, bit), options)) << bit;
}

}  // namespace
}  // namespace vcap
