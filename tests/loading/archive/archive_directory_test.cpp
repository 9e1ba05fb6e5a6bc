// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_directory.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>

#include "support/throws_error.hpp"
#include "support/zip_writer.hpp"

namespace vcap {
namespace {

using test::deflated_entry;
using test::stored_entry;
using test::u16;
using test::u32;
using test::u64;
using test::with;
using test::zip_bytes;
using test::ZipEnd;
using test::ZipEntry;
using testing::AllOf;
using testing::HasSubstr;

std::vector<ArchiveEntry> read(const std::string& bytes, const ArchiveLimits& limits = {}) {
  return read_directory(std::as_bytes(std::span(bytes)), limits, "capsule file \"a.cap\"");
}

ZipEntry named(std::string name) { return stored_entry(std::move(name), "text"); }

TEST(ReadDirectory, GivesEntriesAsTheyAreInTheArchive) {
  const std::string bytes = zip_bytes({stored_entry("a", "first"), stored_entry("b/c", "second")});
  const auto entries = read(bytes);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].data_offset, 4096u);
  EXPECT_EQ(bytes.substr(entries[0].data_offset, entries[0].size), "first");
  EXPECT_EQ(entries[1].name, "b/c");
  EXPECT_EQ(entries[1].data_offset, 8192u);
  EXPECT_EQ(bytes.substr(entries[1].data_offset, entries[1].size), "second");
}

TEST(ReadDirectory, AcceptsASignatureBlockAsTheComment) {
  // One signature's place is filled; the archive's reader does not check its content.
  const std::string block = "vcapsig\x01" + std::string(72, 's') + std::string(80, '\0');
  EXPECT_EQ(read(zip_bytes({named("a")}, {.comment = block})).size(), 1u);
  for (const std::string& comment : {std::string("signed"), block.substr(1), block + '\0'})
    EXPECT_THAT([&] { read(zip_bytes({named("a")}, {.comment = comment})); },
                ThrowsError<InvalidCapsuleError>(ErrorCode::ambiguous_archive,
                                                 HasSubstr("not a signature block")));
}

TEST(ReadDirectory, AcceptsAnEmptyArchive) { EXPECT_TRUE(read(zip_bytes({})).empty()); }

struct BrokenArchive {
  const char* title;
  std::string bytes;
  ErrorCode code;
  const char* message;

  friend void PrintTo(const BrokenArchive& one, std::ostream* out) { *out << one.title; }
};

class ReadDirectoryOfABrokenArchive : public testing::TestWithParam<BrokenArchive> {};

TEST_P(ReadDirectoryOfABrokenArchive, NamesTheFault) {
  EXPECT_THAT([] { read(GetParam().bytes); },
              ThrowsError<InvalidCapsuleError>(
                  GetParam().code, AllOf(HasSubstr("capsule file \"a.cap\""),
                                         HasSubstr(GetParam().message), HasSubstr("`vcap pack`"))));
}

std::string name_of_case(const testing::TestParamInfo<BrokenArchive>& info) {
  return info.param.title;
}

INSTANTIATE_TEST_SUITE_P(
    Frame, ReadDirectoryOfABrokenArchive,
    testing::Values(
        BrokenArchive{"Empty", "", ErrorCode::not_an_archive, "is empty"},
        BrokenArchive{"Text", "hello, world, this is no archive", ErrorCode::not_an_archive,
                      "no end record"},
        BrokenArchive{"CutShort", zip_bytes({named("a")}).substr(0, 90), ErrorCode::not_an_archive,
                      "no end record"},
        BrokenArchive{"Prefix", zip_bytes({named("a")}, {.prefix = "#!/bin/sh\n"}),
                      ErrorCode::ambiguous_archive, "read in two ways"},
        BrokenArchive{"Trailing", zip_bytes({named("a")}, {.trailing = "x"}),
                      ErrorCode::not_an_archive, "no end record"},
        BrokenArchive{"TwoArchives", zip_bytes({named("a")}) + zip_bytes({named("b")}),
                      ErrorCode::ambiguous_archive, "read in two ways"},
        BrokenArchive{"EndRecordInComment", zip_bytes({named("a")}, {.comment = zip_bytes({})}),
                      ErrorCode::ambiguous_archive, "more than one end record"},
        BrokenArchive{"SecondDisk", zip_bytes({named("a")}, {.disk = 1}),
                      ErrorCode::unsupported_entry, "multi-disk archive"},
        BrokenArchive{"TooFewCounted", zip_bytes({named("a"), named("b")}, {.count = 1}),
                      ErrorCode::ambiguous_archive, "directory does not end"},
        BrokenArchive{"TooManyCounted", zip_bytes({named("a")}, {.count = 2}),
                      ErrorCode::not_an_archive, "its directory has no entry"},
        BrokenArchive{"DirectoryElsewhere", zip_bytes({named("a")}, {.directory_offset = 7}),
                      ErrorCode::ambiguous_archive, "directory does not end"},
        BrokenArchive{"DirectoryOfAnotherSize", zip_bytes({named("a")}, {.directory_size = 7}),
                      ErrorCode::ambiguous_archive, "directory does not end"},
        BrokenArchive{"GapBeforeEnd", zip_bytes({named("a")}, {.before_end = "x"}),
                      ErrorCode::ambiguous_archive, "directory does not end"},
        BrokenArchive{"GapBeforeDirectory", zip_bytes({named("a")}, {.before_directory = "x"}),
                      ErrorCode::ambiguous_archive,
                      "bytes that belong to no entry before its directory"},
        BrokenArchive{"LocatorThatNobodyNeeds",
                      zip_bytes({named("a")}, {.before_end = "PK\x06\x07" + std::string(16, '\0')}),
                      ErrorCode::ambiguous_archive, "zip64 locator disagree"},
        BrokenArchive{"Zip64WithoutLocator",
                      zip_bytes({named("a")}, {.directory_offset = 0xffffffff}),
                      ErrorCode::ambiguous_archive, "zip64 locator disagree"},
        BrokenArchive{
            "Zip64RecordMissing",
            zip_bytes({named("a")}, {.before_end = "PK\x06\x07" + u32(0) + u64(1) + u32(1),
                                     .directory_offset = 0xffffffff}),
            ErrorCode::ambiguous_archive, "zip64 end record is not where its locator says"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Entries, ReadDirectoryOfABrokenArchive,
    testing::Values(
        BrokenArchive{"Gap",
                      zip_bytes({named("a"), with(named("b"), [](auto& e) { e.gap = "xx"; })}),
                      ErrorCode::ambiguous_archive, "bytes that belong to no entry before \"b\""},
        BrokenArchive{"SharedBytes",
                      zip_bytes({named("a"), with(named("a"), [](auto& e) { e.offset = 0; })}),
                      ErrorCode::ambiguous_archive, "overlapping bytes"},
        BrokenArchive{"NoHeaderThere", zip_bytes({with(named("a"), [](auto& e) { e.offset = 3; })}),
                      ErrorCode::not_an_archive, "no header of \"a\" at 3"},
        BrokenArchive{"HeaderBeyondTheEnd",
                      zip_bytes({with(named("a"), [](auto& e) { e.offset = 99999; })}),
                      ErrorCode::not_an_archive, "beyond its end"},
        BrokenArchive{"DataBeyondTheEnd",
                      zip_bytes({with(named("a"),
                                      [](auto& e) {
                                        e.packed_size = 99999;
                                        e.size = 99999;
                                      })}),
                      ErrorCode::not_an_archive, "beyond its end"},
        BrokenArchive{"StoredOfTwoSizes",
                      zip_bytes({with(named("a"), [](auto& e) { e.size = 3; })}),
                      ErrorCode::ambiguous_archive, "different packed and unpacked sizes"},
        BrokenArchive{"AnotherLocalName",
                      zip_bytes({with(named("a"), [](auto& e) { e.local_name = "b"; })}),
                      ErrorCode::ambiguous_archive, "two headers of \"a\" differ"},
        BrokenArchive{"AnotherLocalMethod",
                      zip_bytes({with(named("a"), [](auto& e) { e.local_method = 8; })}),
                      ErrorCode::ambiguous_archive, "two headers of \"a\" differ"},
        BrokenArchive{"AnotherLocalChecksum",
                      zip_bytes({with(named("a"), [](auto& e) { e.local_crc = 8; })}),
                      ErrorCode::ambiguous_archive, "two headers of \"a\" differ"},
        BrokenArchive{"AnotherLocalDate",
                      zip_bytes({with(named("a"), [](auto& e) { e.local_date = 34; })}),
                      ErrorCode::ambiguous_archive, "two headers of \"a\" differ"},
        BrokenArchive{"ANewerLocalVersion",
                      zip_bytes({with(named("a"), [](auto& e) { e.local_version = 45; })}),
                      ErrorCode::ambiguous_archive,
                      "in the local header of \"a\", its field \"version needed\" is 0x2d, but "
                      "must be 0x14"},
        BrokenArchive{
            "ExtraCutShort",
            zip_bytes({with(named("a"), [](auto& e) { e.local_extra = u16(1) + u16(9); })}),
            ErrorCode::not_an_archive, "cut short"},
        BrokenArchive{"Zip64FieldMissing",
                      zip_bytes({with(named("a"), [](auto& e) { e.offset = 0xffffffff; })}),
                      ErrorCode::not_an_archive, "zip64 field of \"a\" is missing"},
        BrokenArchive{
            "Zip64FieldForNothing",
            zip_bytes({with(named("a"), [](auto& e) { e.extra = u16(1) + u16(8) + u64(4); })}),
            ErrorCode::not_an_archive, "zip64 field of \"a\" is too long"},
        BrokenArchive{"SecondName",
                      zip_bytes({with(named("a"),
                                      [](auto& e) {
                                        e.extra = u16(0x7075) + u16(6) + "\x01" + u32(0) + "b";
                                      })}),
                      ErrorCode::ambiguous_archive, "second name"},
        BrokenArchive{"Encrypted", zip_bytes({with(named("a"), [](auto& e) { e.flags = 1; })}),
                      ErrorCode::unsupported_entry, "encrypted"},
        BrokenArchive{"Streamed", zip_bytes({with(named("a"), [](auto& e) { e.flags = 8; })}),
                      ErrorCode::unsupported_entry, "streamed"},
        BrokenArchive{"Deflated", zip_bytes({deflated_entry("a", "aaaaaaaaaa")}),
                      ErrorCode::unsupported_entry,
                      "that vcap has not written: its entry \"a\" is packed by method 8; only 0 "
                      "(stored) is allowed; zip programs"},
        BrokenArchive{"ZippedByHand",
                      zip_bytes({with(named("a"),
                                      [](auto& e) {
                                        e.made_by = 3 << 8 | 30;
                                        e.is_padded = false;
                                        e.extra = u16(0x5455) + u16(5) + std::string(5, '\1');
                                      })}),
                      ErrorCode::ambiguous_archive,
                      "that vcap has not written: in the directory's header of \"a\""},
        BrokenArchive{
            "OtherAttributes",
            zip_bytes({with(named("a"),
                            [](auto& e) { e.attributes = std::uint32_t{S_IFREG | 0600} << 16; })}),
            ErrorCode::ambiguous_archive,
            "the directory's header of \"a\", its field \"external attributes\" is "
            "0x81800000, but must be 0x81a40000"},
        BrokenArchive{"MadeElsewhere",
                      zip_bytes({with(named("a"), [](auto& e) { e.made_by = 20; })}),
                      ErrorCode::ambiguous_archive,
                      "its field \"version made by\" is 0x14, but must be 0x314"},
        BrokenArchive{"NotPadded",
                      zip_bytes({with(named("a"), [](auto& e) { e.is_padded = false; })}),
                      ErrorCode::ambiguous_archive,
                      "its field \"length of the extra fields\" is 0x0, but must be 0xfe1"},
        BrokenArchive{"TextInThePadding", zip_bytes({named("a")}).replace(50, 1, "x"),
                      ErrorCode::ambiguous_archive, "its byte 50 is 0x78, but must be 0x0"},
        BrokenArchive{"AnotherMethod",
                      zip_bytes({with(named("a"), [](auto& e) { e.method = 12; })}),
                      ErrorCode::unsupported_entry, "method 12"},
        BrokenArchive{
            "SymbolicLink",
            zip_bytes({with(named("a"),
                            [](auto& e) { e.attributes = std::uint32_t{S_IFLNK | 0777} << 16; })}),
            ErrorCode::unsafe_entry, "symbolic link"},
        BrokenArchive{
            "Pipe",
            zip_bytes({with(named("a"),
                            [](auto& e) { e.attributes = std::uint32_t{S_IFIFO | 0644} << 16; })}),
            ErrorCode::unsafe_entry, "not a regular file"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Names, ReadDirectoryOfABrokenArchive,
    testing::Values(
        BrokenArchive{"Parent", zip_bytes({named("../a")}), ErrorCode::unsafe_entry,
                      "\"../a\" has the component \"..\""},
        BrokenArchive{"Absolute", zip_bytes({named("/etc/passwd")}), ErrorCode::unsafe_entry,
                      "absolute"},
        BrokenArchive{"Backslash", zip_bytes({named("a\\b")}), ErrorCode::unsafe_entry,
                      "backslash"},
        BrokenArchive{"Nul", zip_bytes({named(std::string("a\0b", 3))}), ErrorCode::unsafe_entry,
                      "control character 0"},
        BrokenArchive{"Folder", zip_bytes({named("a/")}), ErrorCode::unsafe_entry, "is a folder"},
        BrokenArchive{"Nothing", zip_bytes({named("")}), ErrorCode::unsafe_entry, "is empty"},
        BrokenArchive{"Long", zip_bytes({named(std::string(60000, 'a'))}), ErrorCode::unsafe_entry,
                      "component of 60000 bytes"},
        BrokenArchive{"NotMarkedAsUtf8", zip_bytes({named("caf\xc3\xa9")}), ErrorCode::unsafe_entry,
                      "not marked as UTF-8"},
        BrokenArchive{"Twice", zip_bytes({named("a"), named("a")}), ErrorCode::unsafe_entry,
                      "\"a\" occurs twice"},
        BrokenArchive{"TwiceButForCase", zip_bytes({named("model"), named("Model")}),
                      ErrorCode::unsafe_entry, "differ only in case"},
        BrokenArchive{"FileAsFolder", zip_bytes({named("a/b"), named("a")}),
                      ErrorCode::unsafe_entry, "\"a\" is a file and the folder of \"a/b\""}),
    name_of_case);

TEST(ReadDirectory, AcceptsNonAsciiNamesThatAreMarkedAsUtf8) {
  const auto entries =
      read(zip_bytes({with(named("caf\xc3\xa9"), [](auto& e) { e.flags = 1 << 11; })}));
  EXPECT_EQ(entries.at(0).name, "caf\xc3\xa9");
}

struct LimitCase {
  const char* title;
  ArchiveLimits limits;
  const char* message;

  friend void PrintTo(const LimitCase& one, std::ostream* out) { *out << one.title; }
};

class ReadDirectoryWithinLimits : public testing::TestWithParam<LimitCase> {};

TEST_P(ReadDirectoryWithinLimits, RefusesAnArchiveThatExceedsThem) {
  const std::string bytes = zip_bytes({stored_entry("small", std::string(1000, 'x')),
                                       stored_entry("large", std::string(3000, 'x'))});
  EXPECT_NO_THROW(read(bytes));
  EXPECT_THAT(
      [&] { read(bytes, GetParam().limits); },
      ThrowsError<InvalidCapsuleError>(ErrorCode::limit_exceeded, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    All, ReadDirectoryWithinLimits,
    testing::Values(
        LimitCase{
            "Entries", {.entries = 1}, "has 2 entries; 1 are allowed (ArchiveLimits::entries)"},
        LimitCase{"DirectoryBytes", {.directory_bytes = 50}, "ArchiveLimits::directory_bytes"},
        LimitCase{"FileBytes", {.file_bytes = 2999}, "\"large\" of 3000 bytes; 2999"},
        LimitCase{"TotalBytes", {.total_bytes = 3999}, "3999 (ArchiveLimits::total_bytes)"}),
    [](const auto& one) { return std::string(one.param.title); });

/// Archives with each byte changed, one at a time; `what` is outside of the contents.
TEST(ReadDirectory, RefusesEveryOtherByteOutsideOfTheContents) {
  const std::string good = zip_bytes({stored_entry("capsule.json", "{}"),
                                      with(stored_entry("caf\xc3\xa9/a", std::string(5000, 'x')),
                                           [](auto& e) { e.flags = 1 << 11; })});
  const auto entries = read(good);
  const auto is_content = [&](std::size_t at) {
    return std::ranges::any_of(entries, [at](const ArchiveEntry& one) {
      return at >= one.data_offset && at < one.data_offset + one.size;
    });
  };
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (is_content(at)) continue;
    for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      try {
        read(bytes);
        ++accepted;
        ADD_FAILURE() << "byte " << at << " may be changed by " << change;
      } catch (const InvalidCapsuleError&) {
      }
    }
  }
  EXPECT_EQ(accepted, 0u);
}

}  // namespace
}  // namespace vcap
