// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_writer.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <ostream>
#include <stdexcept>

#include "files/digest.hpp"
#include "loading/archive/archive.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"

namespace vcap {
namespace {

constexpr std::uint64_t kNever = 0xffffffff;

struct Content {
  std::string name;
  std::string text;
};

const std::vector<Content>& contents() {
  static const std::vector<Content> all = {
      {"capsule.json", "{}"},
      {"empty", ""},
      {"page", std::string(4096, 'p')},
      {"nearly two pages", std::string(8191, 'q')},
      // Names that let the padding reach or cross the end of a page.
      {std::string(200, 'n') + "/" + std::string(255, 'm'), "x"},
      {"caf\xc3\xa9", "y"}};
  return all;
}

std::string written(std::uint64_t zip64_from) {
  std::string bytes;
  ArchiveWriter archive(
      [&bytes](ArchiveWriter::Bytes part) {
        bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
      },
      zip64_from);
  for (const Content& content : contents()) {
    const auto text = std::as_bytes(std::span(content.text));
    archive.add(content.name, text, crc32(text));
  }
  archive.finish();
  return bytes;
}

/// The parameter: the size or offset from which values go into zip64 records; never, for some
/// entries, or for all.
class WrittenArchive : public testing::TestWithParam<std::uint64_t> {
 protected:
  const std::string bytes_ = written(GetParam());
};

TEST_P(WrittenArchive, IsReadBackAsItWasGiven) {
  const Archive archive(MappedFile::copy(std::as_bytes(std::span(bytes_))), ArchiveLimits{},
                        "the archive", GetParam());
  ASSERT_EQ(archive.entries().size(), contents().size());
  for (const Content& content : contents()) {
    const ArchiveEntry* const entry = archive.find(content.name);
    ASSERT_NE(entry, nullptr) << content.name;
    const auto read = archive.checked_content(*entry);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(read.data()), read.size()), content.text);
  }
}

TEST_P(WrittenArchive, AlignsTheDataOfEachEntryToAPage) {
  for (const ArchiveEntry& entry :
       read_directory(std::as_bytes(std::span(bytes_)), ArchiveLimits{}, "the archive", GetParam()))
    EXPECT_EQ(entry.data_offset % 4096, 0u) << entry.name;
}

TEST_P(WrittenArchive, IsReadByUnzip) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("a.zip", bytes_);
  const std::string log = (folder / "log").native();
  const int result = std::system(("unzip -t " + path.native() + " > " + log + " 2>&1").c_str());
  EXPECT_EQ(result, 0) << test::read_file(log);
}

TEST_P(WrittenArchive, IsRefusedWithZip64RecordsThatItDoesNotNeed) {
  if (GetParam() == kNever) return;
  EXPECT_THAT(
      [&] { read_directory(std::as_bytes(std::span(bytes_)), ArchiveLimits{}, "the archive"); },
      ThrowsError<InvalidCapsuleError>(ErrorCode::ambiguous_archive,
                                       testing::HasSubstr("that vcap has not written")));
}

INSTANTIATE_TEST_SUITE_P(Zip64From, WrittenArchive, testing::Values(kNever, 5000, 0));

TEST(ArchiveWriter, PassesOnWhatTheSinkThrows) {
  ArchiveWriter archive([](ArchiveWriter::Bytes) { throw std::runtime_error("full"); });
  EXPECT_THROW(archive.add("a", {}, 0), std::runtime_error);
}

}  // namespace
}  // namespace vcap
