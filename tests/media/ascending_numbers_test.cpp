// SPDX-License-Identifier: Apache-2.0
#include "media/ascending_numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace vcap::test {
namespace {

AscendingNumbers compact(const std::vector<std::int64_t>& plain) {
  AscendingNumbers numbers;
  for (const std::int64_t number : plain) numbers.push_back(number);
  return numbers;
}

std::string saved(const AscendingNumbers& numbers) {
  std::string bytes;
  numbers.save(bytes);
  return bytes;
}

std::optional<AscendingNumbers> loaded(std::string_view bytes) {
  return AscendingNumbers::load(bytes);
}

void expect_same(const AscendingNumbers& numbers, const std::vector<std::int64_t>& plain) {
  ASSERT_EQ(numbers.size(), static_cast<std::int64_t>(plain.size()));
  for (std::size_t i = 0; i < plain.size(); ++i)
    ASSERT_EQ(numbers.at(static_cast<std::int64_t>(i)), plain[i]) << i;
  const auto expect_count = [&](std::int64_t limit) {
    ASSERT_EQ(numbers.count_to(limit), std::ranges::upper_bound(plain, limit) - plain.begin())
        << limit;
  };
  for (const std::int64_t number : plain) {
    expect_count(number);
    if (number > std::numeric_limits<std::int64_t>::min()) expect_count(number - 1);
    if (number < std::numeric_limits<std::int64_t>::max()) expect_count(number + 1);
  }
}

TEST(AscendingNumbers, AreThoseThatWereAdded) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    // Stretches of a constant step, of few different ones, and of any.
    std::vector<std::int64_t> plain;
    std::int64_t next = static_cast<std::int64_t>(random() % 3);
    while (plain.size() < random() % 1500) {
      const std::uint64_t kind = random() % 4;
      const std::uint64_t most = kind < 2 ? 1 : kind == 2 ? 3 : std::uint64_t{1} << random() % 48;
      const auto step = static_cast<std::int64_t>(1 + random() % 5000);
      for (std::uint64_t i = random() % 400; i > 0; --i) {
        plain.push_back(next);
        next += step + static_cast<std::int64_t>(random() % most);
      }
    }
    const AscendingNumbers numbers = compact(plain);
    expect_same(numbers, plain);
    const auto again = loaded(saved(numbers));
    ASSERT_TRUE(again);
    expect_same(*again, plain);
    if (!plain.empty()) {
      EXPECT_EQ(again->back(), plain.back());
      AscendingNumbers longer = *again;
      plain.push_back(next);
      longer.push_back(next);
      expect_same(longer, plain);
    }
  }
}

TEST(AscendingNumbers, MayBeFarApart) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> plain{std::numeric_limits<std::int64_t>::min()};
  for (std::int64_t number = -200; number < 200; ++number) plain.push_back(number);
  plain.push_back(kMost);
  expect_same(compact(plain), plain);
  plain.assign({0, 1, kMost});
  ASSERT_TRUE(loaded(saved(compact(plain))));
  expect_same(*loaded(saved(compact(plain))), plain);
}

TEST(AscendingNumbers, TakeLittleMemory) {
  AscendingNumbers constant;
  AscendingNumbers rounded;
  for (std::int64_t i = 0; i < 1'000'000; ++i) {
    constant.push_back(512 * i);
    rounded.push_back((i * 1000 + 15) / 30);
  }
  constant.shrink_to_fit();
  rounded.shrink_to_fit();
  EXPECT_LT(constant.bytes(), 100u);
  EXPECT_LT(saved(constant).size(), 20u);
  EXPECT_LT(rounded.bytes(), 400'000u);
  EXPECT_EQ(rounded.at(999'999), (999'999'000 + 15) / 30);
}

TEST(AscendingNumbers, AreRefusedIfTheyDoNotAscendOrAreNotComplete) {
  std::vector<std::int64_t> plain;
  for (std::int64_t i = 0; i < 700; ++i) plain.push_back(i < 300 ? 40 * i : 40 * i + i * i % 7);
  const std::string whole = saved(compact(plain));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(loaded(std::string_view(whole).substr(0, size))) << size;
  // Whatever is read from damaged bytes ascends.
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = whole;
    for (std::uint64_t i = 1 + random() % 3; i > 0; --i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto numbers = loaded(damaged);
    if (!numbers) continue;
    std::int64_t before = -1;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(numbers->size(), 2000); ++i) {
      ASSERT_GT(numbers->at(i), before);
      before = numbers->at(i);
    }
    ASSERT_LE(before, numbers->back());
    ASSERT_EQ(numbers->at(numbers->size() - 1), numbers->back());
  }
}

}  // namespace
}  // namespace vcap::test
