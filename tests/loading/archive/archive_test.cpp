// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive.hpp"

#include <gmock/gmock.h>

#include <ostream>

#include "support/throws_error.hpp"
#include "support/zip_writer.hpp"

namespace vcap {
namespace {

using test::stored_entry;
using test::with;
using test::zip_bytes;
using test::ZipEntry;
using testing::AllOf;
using testing::HasSubstr;

Archive open(const std::string& bytes) {
  return {MappedFile::copy(std::as_bytes(std::span(bytes))), ArchiveLimits{},
          "capsule file \"a.cap\""};
}

std::string text(Archive::Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Archive, GivesContent) {
  Archive archive = open(zip_bytes(
      {stored_entry("a", "first"), stored_entry("b", "second"), stored_entry("nothing", "")}));
  EXPECT_EQ(text(archive.content(*archive.find("a"))), "first");
  EXPECT_EQ(text(archive.content(*archive.find("b"))), "second");
  EXPECT_EQ(text(archive.content(*archive.find("nothing"))), "");
  EXPECT_EQ(archive.find("c"), nullptr);
}

TEST(Archive, ReadsContentInBlocks) {
  const std::string large(3 * ByteReader::kBlock + 7, 'x');
  const Archive archive = open(zip_bytes({stored_entry("a", large)}));
  std::string read;
  std::size_t blocks = 0;
  archive.for_each_block(*archive.find("a"), [&](Archive::Bytes block) {
    read += text(block);
    ++blocks;
    EXPECT_LE(block.size(), ByteReader::kBlock);
  });
  EXPECT_TRUE(read == large);
  EXPECT_EQ(blocks, 4u);
}

TEST(Archive, GivesStoredContentAsAViewIntoTheFile) {
  const std::string bytes = zip_bytes({stored_entry("a", "first")});
  const auto file = MappedFile::copy(std::as_bytes(std::span(bytes)));
  Archive archive(file, ArchiveLimits{}, "");
  const ArchiveEntry& entry = *archive.find("a");
  EXPECT_EQ(archive.content(entry).data(), file->bytes().data() + entry.data_offset);
}

TEST(Archive, KeepsViewsAliveByItsStorage) {
  std::shared_ptr<const void> storage;
  Archive::Bytes view;
  {
    const Archive archive = open(zip_bytes({stored_entry("a", "first")}));
    view = archive.content(*archive.find("a"));
    storage = archive.storage();
  }
  EXPECT_EQ(text(view), "first");
}

struct LyingEntry {
  const char* title;
  ZipEntry entry;
  const char* message;

  friend void PrintTo(const LyingEntry& one, std::ostream* out) { *out << one.title; }
};

class ArchiveOfALyingEntry : public testing::TestWithParam<LyingEntry> {};

TEST_P(ArchiveOfALyingEntry, GivesAnErrorThatNamesIt) {
  EXPECT_THAT(
      [] {
        const Archive archive = open(zip_bytes({GetParam().entry}));
        archive.checked_content(archive.entries().front());
      },
      ThrowsError<InvalidCapsuleError>(
          ErrorCode::damaged_entry,
          AllOf(HasSubstr("entry \"a\""), HasSubstr(GetParam().message))));
}

INSTANTIATE_TEST_SUITE_P(
    All, ArchiveOfALyingEntry,
    testing::Values(
        LyingEntry{"WrongChecksum", with(stored_entry("a", "text"), [](auto& e) { e.crc ^= 1; }),
                   "checksum"},
        LyingEntry{"NoChecksum", with(stored_entry("a", "text"), [](auto& e) { e.crc = 0; }),
                   "checksum"},
        LyingEntry{"ChecksumOfNothing", with(stored_entry("a", ""), [](auto& e) { e.crc = 1; }),
                   "checksum"}),
    [](const auto& one) { return std::string(one.param.title); });

}  // namespace
}  // namespace vcap
