// SPDX-License-Identifier: Apache-2.0
#include "records/message_spool.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "support/file_size_limit.hpp"
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
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr std::uint64_t kRoomySpool = 1 << 20;

std::string numbered_body(std::uint64_t number) { return "{\"n\":" + std::to_string(number) + "}"; }

void append_numbered(MessageSpool& spool, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t n = first; n <= last; ++n) spool.append("gate", numbered_body(n));
}

std::vector<std::uint64_t> sequences_of(const std::vector<SpooledMessage>& messages) {
  std::vector<std::uint64_t> numbers;
  for (const SpooledMessage& message : messages) numbers.push_back(message.sequence);
  return numbers;
}

/// Reads and confirms everything. The bodies must fit their numbers.
std::vector<std::uint64_t> take_all(MessageSpool& spool) {
  std::vector<std::uint64_t> numbers;
  while (true) {
    const auto messages = spool.read(7);
    if (messages.empty()) return numbers;
    for (const SpooledMessage& message : messages) {
      EXPECT_EQ(message.body, numbered_body(message.sequence));
      numbers.push_back(message.sequence);
    }
    spool.confirm(numbers.back());
  }
}

std::vector<fs::path> segment_files(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".messages") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Spooling : public testing::Test {
 protected:
  Spooling() {
    set_log_hook([this](LogLevel, std::string_view text) { log_ += std::string(text) + '\n'; });
  }
  ~Spooling() override { set_log_hook({}); }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "spool").string();
  std::string log_;
};

TEST_F(Spooling, GivesMessagesInOrderUntilTheyAreConfirmed) {
  MessageSpool spool(path_, kRoomySpool);
  EXPECT_FALSE(spool.has_unread());
  append_numbered(spool, 1, 3);
  EXPECT_EQ(spool.counts().waiting, 3);
  EXPECT_THAT(sequences_of(spool.read(2)), ElementsAre(1, 2));
  EXPECT_EQ(spool.counts().waiting, 3) << "being sent";
  spool.confirm(1);
  spool.rewind();
  EXPECT_THAT(sequences_of(spool.read(9)), ElementsAre(2, 3));
  spool.confirm(3);
  EXPECT_EQ(spool.counts().waiting, 0);
  EXPECT_THAT(spool.read(9), IsEmpty());
  append_numbered(spool, 4, 4);
  EXPECT_THAT(take_all(spool), ElementsAre(4));
}

TEST_F(Spooling, KeepsWhatIsNotConfirmedAndItsIdWhenItIsOpenedAgain) {
  std::string id;
  for (std::uint64_t round = 0; round < 5; ++round) {
    MessageSpool spool(path_, kRoomySpool);
    if (round == 0) id = spool.id();
    EXPECT_EQ(spool.id(), id);
    append_numbered(spool, 2 * round + 1, 2 * round + 2);
    const auto messages = spool.read(9);
    EXPECT_EQ(messages.front().sequence, round + 1);
    EXPECT_THAT(messages, SizeIs(round + 2));
    spool.confirm(messages.front().sequence);
  }
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(Spooling, CutsOffEveryPartOfALastMessage) {
  std::string whole;
  {
    MessageSpool spool(path_, kRoomySpool);
    append_numbered(spool, 1, 3);
    whole = read_file(segment_files(path_).front());
  }
  const std::size_t message = (whole.size() - 36) / 3;
  for (std::size_t size = 36; size <= whole.size(); ++size) {
    SCOPED_TRACE(size);
    fs::remove_all(path_);
    fs::create_directory(path_);
    std::ofstream(path_ + "/00000000000000000001.messages") << whole.substr(0, size);
    const std::uint64_t kept = (size - 36) / message;
    MessageSpool spool(path_, kRoomySpool);
    EXPECT_EQ(spool.counts().waiting, kept);
    append_numbered(spool, kept + 1, kept + 1);
    EXPECT_THAT(take_all(spool), SizeIs(kept + 1));
  }
  EXPECT_THAT(log_, HasSubstr("after the last message cut off"));
}

TEST_F(Spooling, LosesTheOldestBeyondItsBoundAndCountsThem) {
  MessageSpool spool(path_, 64 << 10);
  constexpr std::uint64_t kAdded = 5000;
  for (std::uint64_t n = 1; n <= kAdded; ++n) {
    append_numbered(spool, n, n);
    ASSERT_LE(spool.counts().bytes, 64u << 10);
  }
  const auto counts = spool.counts();
  ASSERT_THAT(counts.lost, ElementsAre(Pair("full", testing::Gt(0u))));
  EXPECT_EQ(counts.waiting + counts.lost.at("full"), kAdded);
  EXPECT_GT(counts.bytes, (64u << 10) * 14 / 16) << "it uses its bound";
  const auto numbers = take_all(spool);
  EXPECT_EQ(numbers.size(), counts.waiting);
  EXPECT_EQ(numbers.front(), counts.lost.at("full") + 1);
  EXPECT_EQ(numbers.back(), kAdded);
}

TEST_F(Spooling, CountsEachMessageOnceIfTheBoundIsReachedWhileMessagesAreSent) {
  for (const bool is_delivered : {true, false}) {
    fs::remove_all(path_);
    MessageSpool spool(path_, 64 << 10);
    append_numbered(spool, 1, 100);
    EXPECT_THAT(spool.read(50), SizeIs(50));
    append_numbered(spool, 101, 5000);  // drops the first ones
    EXPECT_GT(spool.counts().lost.at("full"), 0);
    if (is_delivered)
      spool.confirm(50);
    else
      spool.rewind();
    const auto counts = spool.counts();
    EXPECT_EQ(counts.waiting + counts.lost.at("full"), is_delivered ? 4950 : 5000);
    EXPECT_THAT(take_all(spool), SizeIs(counts.waiting));
  }
}

TEST_F(Spooling, LosesAMessageThatIsTooLarge) {
  MessageSpool spool(path_, 64 << 10);
  spool.append("gate", std::string(20 << 10, 'x'), {.file = 1, .position = 9});
  EXPECT_THAT(spool.counts().lost, ElementsAre(Pair("too large", 1)));
  EXPECT_EQ(spool.place(), (SpoolPlace{1, 9}));
  append_numbered(spool, 1, 1);
  EXPECT_THAT(take_all(spool), ElementsAre(1));
}

TEST_F(Spooling, StaysWholeOnAFullDisk) {
  std::uint64_t added = 0;
  for (rlim_t limit = 0; limit < 600; limit += 7) {
    MessageSpool spool(path_, kRoomySpool);
    const std::uint64_t before = added;
    {
      const FileSizeLimit full(limit);
      try {
        for (int i = 0; i < 3; ++i) {
          append_numbered(spool, added + 1, added + 1);
          ++added;
        }
      } catch (const OutputError& error) {
        EXPECT_EQ(error.code(), ErrorCode::output_write);
        EXPECT_THAT(error.what(), AllOf(HasSubstr(path_), HasSubstr("free some space")));
      }
    }
    EXPECT_EQ(spool.counts().waiting, added - before);
    append_numbered(spool, added + 1, added + 1);
    ++added;
    EXPECT_THAT(take_all(spool), SizeIs(added - before)) << limit;
  }
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(Spooling, KeepsThePlaceOfAFileAlsoWithoutMessages) {
  const SpoolPlace place{.file = 7, .position = 1234};
  {
    MessageSpool spool(path_, 64 << 10);
    EXPECT_EQ(spool.place(), SpoolPlace{});
    spool.set_place(place);
  }
  for (int i = 0; i < 3; ++i) {
    MessageSpool spool(path_, 64 << 10);
    EXPECT_EQ(spool.place(), place);
    for (int n = 0; n < 1000; ++n) spool.append("gate", "{}");  // over several segments
    for (auto some = spool.read(100); !some.empty(); some = spool.read(100))
      spool.confirm(some.back().sequence);
  }
  MessageSpool spool(path_, 64 << 10);
  spool.append("gate", "{}", {7, 1300});
  EXPECT_EQ(spool.place(), (SpoolPlace{7, 1300}));
}

TEST_F(Spooling, GivesUpTheRestOfADamagedSegmentAndCountsIt) {
  {
    MessageSpool spool(path_, 64 << 10);
    append_numbered(spool, 1, 300);
  }
  const auto files = segment_files(path_);
  ASSERT_THAT(files, SizeIs(testing::Gt(2u)));
  std::string bytes = read_file(files[1]);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(files[1], std::ios::binary) << bytes;
  MessageSpool spool(path_, 64 << 10);
  const auto numbers = take_all(spool);
  const auto counts = spool.counts();
  ASSERT_THAT(counts.lost, ElementsAre(Pair("damaged", testing::Gt(0u))));
  EXPECT_EQ(numbers.size() + counts.lost.at("damaged"), 300);
  EXPECT_EQ(numbers.back(), 300);
}

TEST_F(Spooling, RefusesFoldersThatItCannotUse) {
  const auto expect_refused = [](const std::string& path, const std::string& why) {
    EXPECT_THAT(
        [&] { MessageSpool(path, kRoomySpool); },
        ThrowsError<OutputError>(ErrorCode::output_open, AllOf(HasSubstr(path), HasSubstr(why))));
  };
  const MessageSpool spool(path_, kRoomySpool);
  expect_refused(path_, "in use by another run or publisher");
  expect_refused(folder_.write("file", "x").string(), "cannot be opened");
  folder_.write("other/spool", "something else\n");
  expect_refused((folder_ / "other").string(), "another format");
  EXPECT_THROW(MessageSpool((folder_ / "small").string(), 1000), InvalidArgument);
}

/// Appends numbered messages and sometimes takes some, until it is killed. One always waits.
[[noreturn]] void spool_for_ever(const std::string& path) {
  try {
    MessageSpool spool(path, 256 << 10);
    std::uint64_t next = 1;
    if (const auto waiting = spool.read(1); !waiting.empty()) {
      spool.rewind();
      next = waiting.front().sequence + spool.counts().waiting;
    }
    while (true) {
      append_numbered(spool, next, next);
      if (++next % 100 != 0) continue;
      const auto messages = spool.read(60);
      spool.confirm(messages.back().sequence);
    }
  } catch (...) {
    ::_exit(1);
  }
}

TEST_F(Spooling, HasAllWholeMessagesAfterAKillAtAnyMoment) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const char* const wanted = std::getenv("VCAP_TEST_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 40;
  std::uint64_t seen = 0;
  for (int i = 0; i < kills; ++i) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) spool_for_ever(path_);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 15000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    MessageSpool spool(path_, 256 << 10);
    const std::uint64_t waiting = spool.counts().waiting;
    std::uint64_t last = 0;
    std::uint64_t count = 0;
    for (auto messages = spool.read(100); !messages.empty(); messages = spool.read(100))
      for (const SpooledMessage& message : messages) {
        ASSERT_EQ(message.body, numbered_body(message.sequence));
        ASSERT_TRUE(last == 0 || message.sequence == last + 1);
        last = message.sequence;
        ++count;
      }
    EXPECT_EQ(count, waiting);
    EXPECT_THAT(spool.counts().lost, IsEmpty());
    seen = std::max(seen, last);
    if (last > 1 && i % 3 == 0) spool.confirm(last - 1);
  }
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace vcap::test
