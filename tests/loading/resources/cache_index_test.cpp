// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/cache_index.hpp"

#include <gmock/gmock.h>

#include <string>

#include "capsule/resource_check.hpp"
#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CacheIndex index_of(const std::string& text) {
  return read_cache_index(std::as_bytes(std::span(text)));
}

const std::string kA(64, 'a');
const std::string kB(64, 'b');
const std::string kC(64, 'c');

TEST(CacheIndex, IsReadAsItWasWritten) {
  const CacheIndex index{.entries = {{kA, {.size = 7, .last_use = 3}},
                                     {kB, {.size = kLargestResource, .last_use = 0}}}};
  EXPECT_EQ(index_of(cache_index_text(index)), index);
  EXPECT_EQ(index_of(cache_index_text({})), CacheIndex{});
}

TEST(CacheIndex, IsRefusedWithItsFaultIfDamaged) {
  const std::string sound = cache_index_text({.entries = {{kA, {.size = 7, .last_use = 3}}}});
  const auto changed = [&sound](const std::string& from, const std::string& to) {
    std::string text = sound;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::vector<std::pair<std::string, const char*>> cases{
      {"", "parse error"},
      {std::string(4, '\0'), "zero"},
      {"[]", "an object is needed"},
      {"{}", "\"version\" is missing"},
      {sound.substr(0, sound.size() / 2), "parse error"},
      {changed("\"version\": 1", "\"version\": 2"), "/version"},
      {changed("\"size\": 7", "\"size\": -7"), "/size"},
      {changed("\"size\": 7", "\"size\": 1099511627777"), "/size"},
      {changed("\"size\": 7", "\"size\": 7.5"), "/size"},
      {changed("\"last_use\": 3", "\"last_use\": -3"), "/last_use"},
      {changed("\"last_use\": 3", "\"last_use\": 9223372036854775807"), "/last_use"},
      {changed("\"last_use\": 3", "\"last_use\": \"3\""), "/last_use"},
      {changed(kA, "../../etc/passwd"), "is not a SHA-256"},
      {changed("{", "{\"version\": 1, "), "twice"},
      {R"({"version": 1, "entries": [1]})", "/entries"},
  };
  for (const auto& [text, complaint] : cases)
    EXPECT_THAT([&text = text] { index_of(text); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr(complaint)))
        << text;
}

TEST(CacheIndex, GivesOnlyVcapErrorsIfTruncatedOrChangedByABit) {
  const std::string sound = cache_index_text(
      {.entries = {{kA, {.size = 7, .last_use = 3}}, {kB, {.size = 9, .last_use = 4}}}});
  const auto read = [](const std::string& text) {
    try {
      index_of(text);
    } catch (const InvalidArgument&) {
    }
  };
  for (std::size_t at = 0; at < sound.size(); ++at) {
    EXPECT_NO_THROW(read(sound.substr(0, at)));
    for (int bit = 0; bit < 8; ++bit) {
      std::string text = sound;
      text[at] = static_cast<char>(text[at] ^ (1 << bit));
      EXPECT_NO_THROW(read(text));
    }
  }
}

TEST(CacheIndex, OrdersByUseEvenIfTheClockGoesBack) {
  CacheIndex index;
  index.use(kA, 1, 100);
  index.use(kB, 1, 50);
  index.use(kC, 1, 100);
  EXPECT_THAT(index.oldest_first(), ElementsAre(kA, kB, kC));
  index.use(kA, 1, 20);
  EXPECT_THAT(index.oldest_first(), ElementsAre(kB, kC, kA));
}

TEST(CacheIndex, IsReconciledWithTheFilesOfTheFolder) {
  const CacheIndex index{.entries = {{kA, {.size = 5, .last_use = 9}},
                                     {kB, {.size = 100, .last_use = 8}},
                                     {std::string(64, 'd'), {.size = 1, .last_use = 1}}}};
  const CacheIndex real =
      reconciled(index, {{.sha256 = kA, .size = 7, .modified = 1, .is_part = false},
                         {.sha256 = kB, .size = 30, .modified = 1, .is_part = true},
                         {.sha256 = kC, .size = 4, .modified = 6, .is_part = false}});
  const CacheIndex expected{.entries = {{kA, {.size = 7, .last_use = 9}},
                                        {kB, {.size = 100, .last_use = 8}},
                                        {kC, {.size = 4, .last_use = 6}}}};
  EXPECT_EQ(real, expected);
  EXPECT_EQ(real.total_size(), 111u);
}

}  // namespace
}  // namespace vcap
