// SPDX-License-Identifier: Apache-2.0
#include "cluster/nkey.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A pair of NATS' documentation.
constexpr const char* kSeed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
constexpr const char* kPublicKey = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

class NkeyTest : public testing::Test {
 protected:
  std::string file(const std::string& content) const {
    const fs::path path = folder_.write("key.nk", content);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    return path;
  }

  const TemporaryFolder folder_;
};

TEST_F(NkeyTest, HasTheFormOfNats) {
  EXPECT_EQ(Nkey::from_file(file(kSeed)).public_key(), kPublicKey);
  EXPECT_EQ(Nkey::from_file(file(std::string(kSeed) + "\r\n")).public_key(), kPublicKey);
}

TEST_F(NkeyTest, IsReadAsItWasWritten) {
  const std::string path = folder_ / "new.nk";
  const Nkey key = Nkey::generate();
  key.save(path);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const Nkey read = Nkey::from_file(path);
  EXPECT_EQ(read.public_key(), key.public_key());
  EXPECT_EQ(read.sign("nonce"), key.sign("nonce"));
  EXPECT_NE(read.sign("nonce"), key.sign("another"));
  EXPECT_NE(Nkey::generate().public_key(), key.public_key());
  EXPECT_THAT([&] { key.save(path); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("never overwritten")));
}

TEST_F(NkeyTest, RefusesWhatIsNoSeedWithoutShowingIt) {
  const std::string seed = kSeed;
  std::vector<std::string> wrong{"",
                                 "SU",
                                 kPublicKey,
                                 seed + 'A',
                                 seed.substr(1),
                                 seed.substr(0, 57),
                                 "x " + seed,
                                 std::string(58, 'A')};
  // Every character counts; the last one has two bits without meaning.
  for (std::size_t i = 0; i + 1 < seed.size(); ++i) {
    wrong.push_back(seed);
    wrong.back()[i] = seed[i] == 'B' ? 'C' : 'B';
  }
  for (const std::string& content : wrong) {
    const std::string path = file(content);
    EXPECT_THAT([&] { Nkey::from_file(path); },
                ThrowsError<InvalidArgument>(
                    ErrorCode::invalid_key,
                    AllOf(HasSubstr(path), HasSubstr("seed"), Not(HasSubstr("SUACSSL")))))
        << content;
  }
  EXPECT_THAT([&] { Nkey::from_file(folder_ / "none"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_key, HasSubstr("cannot be read")));
}

TEST_F(NkeyTest, WarnsOfAFileThatOthersMayRead) {
  const std::string path = file(kSeed);
  std::vector<std::string> lines;
  set_log_hook([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  Nkey::from_file(path);
  EXPECT_TRUE(lines.empty());
  fs::permissions(path, fs::perms::others_read, fs::perm_options::add);
  Nkey::from_file(path);
  set_log_hook({});
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr(path), HasSubstr("chmod 600"))));
}

}  // namespace
}  // namespace vcap::test
