// SPDX-License-Identifier: Apache-2.0
#include "files/byte_reader.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <numeric>

#include "files/sealed_memory.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"

namespace vcap {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string read_text(const ByteReader& reader, std::uint64_t offset, std::uint64_t count) {
  return text_of(reader.read(offset, count));
}

TEST(ByteReader, ReadsAFileByOffset) {
  const TemporaryFolder folder;
  const ByteReader reader(open_regular_file(folder.write("a", "0123456789")), "the file");
  EXPECT_EQ(reader.size(), 10u);
  EXPECT_EQ(read_text(reader, 0, 4), "0123");
  EXPECT_EQ(read_text(reader, 7, 3), "789");
  EXPECT_EQ(read_text(reader, 10, 0), "");
  EXPECT_EQ(reader.bytes_read(), 7u);
}

TEST(ByteReader, ReadsBytesInMemory) {
  const std::string text = "0123456789";
  const auto bytes = std::as_bytes(std::span(text));
  const ByteReader borrowed(bytes, "the bytes");
  const ByteReader owned(MappedFile::copy(bytes), "the bytes");
  EXPECT_EQ(read_text(borrowed, 7, 3), "789");
  EXPECT_EQ(read_text(owned, 7, 3), "789");
}

TEST(ByteReader, GivesBlocksOfBoundedSizeInOrder) {
  const TemporaryFolder folder;
  std::string content(2 * ByteReader::kBlock + 5, '\0');
  std::iota(content.begin(), content.end(), '\0');
  const ByteReader file(open_regular_file(folder.write("a", content)), "the file");
  const ByteReader memory(std::as_bytes(std::span(content)), "the bytes");
  for (const ByteReader* const reader : {&file, &memory}) {
    std::string read;
    std::size_t largest = 0;
    reader->for_each_block(3, content.size() - 3, [&](ByteReader::Bytes block) {
      read += text_of(block);
      largest = std::max(largest, block.size());
    });
    EXPECT_TRUE(read == content.substr(3));
    EXPECT_EQ(largest, ByteReader::kBlock);
  }
}

TEST(ByteReader, NamesFileOffsetAndRemedyIfTheFileWasTruncated) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", std::string(10000, 'x'));
  const ByteReader reader(open_regular_file(path), "capsule file \"a\"");
  std::filesystem::resize_file(path, 6000);
  EXPECT_EQ(read_text(reader, 0, 6000).size(), 6000u);
  const auto says = ThrowsError<InvalidCapsuleError>(
      ErrorCode::capsule_changed,
      AllOf(HasSubstr("capsule file \"a\" cannot be read at byte 6000"),
            HasSubstr("had 10000 bytes and now has 6000"), HasSubstr("renaming")));
  EXPECT_THAT([&] { reader.read(0, 10000); }, says);
  EXPECT_THAT([&] { reader.for_each_block(0, 10000, [](ByteReader::Bytes) {}); }, says);
  EXPECT_THAT([&] { reader.mapped(); }, says);
}

TEST(ByteReader, MapsNothingBeforeItIsAsked) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", std::string(10000, 'x'));
  const ByteReader reader(open_regular_file(path), "the file");
  reader.read(0, 10000);
  EXPECT_THAT(test::read_file("/proc/self/maps"), Not(HasSubstr(path.native())));
  EXPECT_EQ(reader.bytes().size(), 10000u);
  EXPECT_THAT(test::read_file("/proc/self/maps"), HasSubstr(path.native()));
}

TEST(ByteReader, KeepsACopyOfTheCallersBytes) {
  std::string text = "0123456789";
  const ByteReader reader(std::as_bytes(std::span(text)), "the bytes");
  reader.keep();
  text.assign(10, 'x');
  EXPECT_EQ(read_text(reader, 0, 10), "0123456789");
  EXPECT_EQ(text_of(reader.bytes()), "0123456789");
}

TEST(SealedMemory, GivesWhatWasAppended) {
  SealedMemory memory("vcap-test");
  const std::string parts[] = {"one ", "", "two"};
  for (const std::string& part : parts) memory.append(std::as_bytes(std::span(part)));
  EXPECT_EQ(text_of(memory.seal()->bytes()), "one two");
}

}  // namespace
}  // namespace vcap
