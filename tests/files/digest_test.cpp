// SPDX-License-Identifier: Apache-2.0
#include "files/digest.hpp"

#include <gtest/gtest.h>

namespace vcap {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// The examples of FIPS 180-4, and the check value of CRC-32/ISO-HDLC.
TEST(Digest, GivesThePublishedValues) {
  EXPECT_EQ(sha256({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(bytes("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(crc32({}), 0u);
  EXPECT_EQ(crc32(bytes("123456789")), 0xcbf43926u);
}

TEST(Fingerprint, GivesBothChecksumsOfALargeInput) {
  std::string text(1'000'003, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 7);
  const Fingerprint print = fingerprint(bytes(text));
  EXPECT_EQ(print.sha256, sha256(bytes(text)));
  EXPECT_EQ(print.crc32, crc32(bytes(text)));
  EXPECT_EQ(fingerprint({}).sha256, sha256({}));
}

}  // namespace
}  // namespace vcap
