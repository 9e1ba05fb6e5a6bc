// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/uuid.hpp"

#include <gmock/gmock.h>

#include <random>
#include <set>
#include <unordered_set>

#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* kVersion4 =
    "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";

TEST(Uuid, IsNilByDefault) {
  EXPECT_EQ(Uuid().to_string(), "00000000-0000-0000-0000-000000000000");
}

TEST(Uuid, HasVersion4WhenRandom) {
  std::mt19937_64 engine(3);
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(Uuid::random().to_string(), MatchesRegex(kVersion4));
    EXPECT_THAT(Uuid::random(engine).to_string(), MatchesRegex(kVersion4));
  }
}

TEST(Uuid, IsDifferentEachTimeWhenRandom) {
  std::set<Uuid> drawn;
  for (int i = 0; i < 1000; ++i) drawn.insert(Uuid::random());
  EXPECT_EQ(drawn.size(), 1000u);
}

TEST(Uuid, HasEveryOtherBitBothSetAndClearWhenRandom) {
  std::mt19937_64 engine(3);
  std::array<std::uint8_t, 16> ever_set{};
  std::array<std::uint8_t, 16> ever_clear{};
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = Uuid::random(engine);
    for (std::size_t byte = 0; byte < 16; ++byte) {
      ever_set[byte] = static_cast<std::uint8_t>(ever_set[byte] | uuid.bytes()[byte]);
      ever_clear[byte] = static_cast<std::uint8_t>(ever_clear[byte] | ~uuid.bytes()[byte]);
    }
  }
  for (std::size_t byte = 0; byte < 16; ++byte) {
    EXPECT_EQ(ever_set[byte], byte == 6 ? 0x4F : byte == 8 ? 0xBF : 0xFF) << byte;
    EXPECT_EQ(ever_clear[byte], byte == 6 ? 0xBF : byte == 8 ? 0x7F : 0xFF) << byte;
  }
}

TEST(Uuid, IsTheSameFromTheSameSeed) {
  // A fixed text: the standard defines the numbers of an engine, and vcap defines their order. So
  // the track ids of a run are the same on every machine.
  std::mt19937_64 engine(42);
  EXPECT_EQ(Uuid::random(engine).to_string(), "c151df7d-6ee5-42d6-a397-8fb9b92502a8");
}

TEST(Uuid, IsReadFromItsWrittenForm) {
  const std::string text = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6";
  const Uuid uuid = Uuid::parse(text);
  EXPECT_EQ(uuid.to_string(), text);
  EXPECT_EQ(uuid.bytes().front(), 0xF8);
  EXPECT_EQ(uuid.bytes().back(), 0xF6);
}

TEST(Uuid, IsReadInUpperCaseToo) {
  EXPECT_EQ(Uuid::parse("F81D4FAE-7DEC-41D0-A765-00A0C91E6BF6"),
            Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6"));
}

TEST(Uuid, RefusesTextOfAnotherForm) {
  for (const char* text :
       {"", "f81d4fae7dec41d0a76500a0c91e6bf6", "f81d4fae-7dec-41d0-a765-00a0c91e6bf",
        "f81d4fae-7dec-41d0-a765-00a0c91e6bf6a", "f81d4fae-7dec-41d0-a765-00a0c91e6bfg",
        "f81d4fae-7dec-41d0-a765000a0c91e6bf6", "-81d4fae-7dec-41d0-a765-00a0c91e6bf6",
        "{81d4fae-7dec-41d0-a765-00a0c91e6bf}"}) {
    EXPECT_THAT([&] { Uuid::parse(text); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                             HasSubstr(std::string("\"") + text + "\"")))
        << text;
  }
}

TEST(Uuid, HasTheOrderOfItsText) {
  std::mt19937_64 engine(5);
  for (int i = 0; i < 100; ++i) {
    const Uuid a = Uuid::random(engine);
    const Uuid b = Uuid::random(engine);
    EXPECT_EQ(a < b, a.to_string() < b.to_string());
  }
}

TEST(Uuid, HasDifferentHashes) {
  std::unordered_set<std::size_t> hashes;
  std::mt19937_64 engine(5);
  for (int i = 0; i < 1000; ++i) hashes.insert(std::hash<Uuid>()(Uuid::random(engine)));
  EXPECT_EQ(hashes.size(), 1000u);
}

}  // namespace
}  // namespace vcap
