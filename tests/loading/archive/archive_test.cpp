// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive.hpp"

#include <gmock/gmock.h>

#include <ostream>

#include "support/throws_error.hpp"
#include "support/zip_writer.hpp"

namespace vcap {
namespace {

using test::deflated_entry;
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

TEST(Archive, GivesStoredAndDeflatedContent) {
  Archive archive = open(zip_bytes(
      {stored_entry("a", "first"), deflated_entry("b", "second"), stored_entry("nothing", "")}));
  EXPECT_EQ(text(archive.content(*archive.find("a"))), "first");
  EXPECT_EQ(text(archive.content(*archive.find("b"))), "second");
  EXPECT_EQ(text(archive.content(*archive.find("nothing"))), "");
  EXPECT_EQ(archive.find("c"), nullptr);
}

TEST(Archive, GivesStoredContentAsAViewIntoTheFile) {
  const std::string bytes = zip_bytes({stored_entry("a", "first")});
  const auto file = MappedFile::copy(std::as_bytes(std::span(bytes)));
  Archive archive(file, ArchiveLimits{}, "");
  const ArchiveEntry& entry = *archive.find("a");
  EXPECT_EQ(archive.content(entry).data(), file->bytes().data() + entry.data_offset);
}

TEST(Archive, UnpacksAnEntryOnce) {
  Archive archive = open(zip_bytes({deflated_entry("b", "second")}));
  const ArchiveEntry& entry = *archive.find("b");
  EXPECT_EQ(archive.content(entry).data(), archive.content(entry).data());
}

TEST(Archive, KeepsViewsAliveByItsStorage) {
  std::shared_ptr<const void> storage;
  Archive::Bytes stored;
  Archive::Bytes unpacked;
  {
    Archive archive = open(zip_bytes({stored_entry("a", "first"), deflated_entry("b", "second")}));
    stored = archive.content(*archive.find("a"));
    unpacked = archive.content(*archive.find("b"));
    storage = archive.storage();
  }
  EXPECT_EQ(text(stored), "first");
  EXPECT_EQ(text(unpacked), "second");
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
        Archive archive = open(zip_bytes({GetParam().entry}));
        archive.checked_content(archive.entries().front());
      },
      ThrowsError<InvalidCapsuleError>(
          ErrorCode::damaged_entry,
          AllOf(HasSubstr("entry \"a\""), HasSubstr(GetParam().message))));
}

const ZipEntry kDeflated = deflated_entry("a", "some text, some text, some text");

INSTANTIATE_TEST_SUITE_P(
    All, ArchiveOfALyingEntry,
    testing::Values(
        LyingEntry{"DeclaresMore", with(kDeflated, [](auto& e) { e.size += 5; }), "declares 36"},
        LyingEntry{"DeclaresLess", with(kDeflated, [](auto& e) { e.size -= 5; }),
                   "unpacks to more than the 26"},
        LyingEntry{"DeflatedWithAWrongChecksum", with(kDeflated, [](auto& e) { e.crc ^= 1; }),
                   "checksum"},
        LyingEntry{"StoredWithAWrongChecksum",
                   with(stored_entry("a", "text"), [](auto& e) { e.crc ^= 1; }), "checksum"},
        LyingEntry{"NoDeflateStream",
                   with(kDeflated, [](auto& e) { e.packed = std::string(9, '\xff'); }),
                   "cannot be unpacked"},
        LyingEntry{"StreamCutShort", with(kDeflated, [](auto& e) { e.packed.resize(5); }),
                   "not a complete deflate stream"},
        LyingEntry{"StreamAndMore", with(kDeflated, [](auto& e) { e.packed += "more"; }),
                   "4 bytes after the end"}),
    [](const auto& one) { return std::string(one.param.title); });

}  // namespace
}  // namespace vcap
