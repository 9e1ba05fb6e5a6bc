// SPDX-License-Identifier: Apache-2.0
// There is one archive for given contents: vcap accepts a mutated archive only if it is the one
// that vcap writes for what it reads. And other readers, libzip, libarchive (by the directory and
// as a stream) and Python's zipfile, read the same content from what vcap writes.
#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "files/digest.hpp"
#include "hostile/sound_capsule.hpp"
#include "loading/archive/archive.hpp"
#include "loading/archive/archive_writer.hpp"
#include "support/mutator.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Names and digests, sorted.
using Contents = std::vector<std::pair<std::string, std::string>>;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// A name and its bytes.
using Files = std::vector<std::pair<std::string, std::string>>;

std::optional<Files> as_vcap_sees(const std::string& bytes, std::uint64_t zip64_from) {
  try {
    const Archive archive(MappedFile::copy(as_bytes(bytes)), ArchiveLimits{}, "mutated",
                          zip64_from);
    Files files;
    for (const ArchiveEntry& entry : archive.entries()) {
      const auto content = archive.checked_content(entry);
      files.emplace_back(
          entry.name, std::string(reinterpret_cast<const char*>(content.data()), content.size()));
    }
    return files;
  } catch (const InvalidCapsuleError&) {
    return {};
  }
}

Contents digests_of(const Files& files) {
  Contents contents;
  for (const auto& [name, content] : files) contents.emplace_back(name, sha256(as_bytes(content)));
  std::sort(contents.begin(), contents.end());
  return contents;
}

std::optional<Contents> as_libarchive_sees(const std::string& bytes, bool as_stream) {
  const std::unique_ptr<struct archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                             &archive_read_free);
  if (as_stream)
    archive_read_support_format_zip_streamable(reader.get());
  else
    archive_read_support_format_zip_seekable(reader.get());
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return {};
  Contents contents;
  for (;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK) return {};
    std::string content;
    std::string block(1 << 16, '\0');
    la_ssize_t size = 0;
    while ((size = archive_read_data(reader.get(), block.data(), block.size())) > 0)
      content.append(block, 0, static_cast<std::size_t>(size));
    if (size < 0) return {};
    const char* const name = archive_entry_pathname(entry);
    contents.emplace_back(name != nullptr ? name : "(no name)", sha256(as_bytes(content)));
  }
  std::sort(contents.begin(), contents.end());
  return contents;
}

std::optional<Contents> as_libzip_sees(const std::string& bytes) {
  zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, nullptr);
  zip_t* const opened = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, nullptr);
  if (opened == nullptr) {
    zip_source_free(source);
    return {};
  }
  const std::unique_ptr<zip_t, decltype(&zip_discard)> archive(opened, &zip_discard);
  Contents contents;
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    zip_stat_t status;
    const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(
        zip_fopen_index(archive.get(), i, 0), &zip_fclose);
    if (zip_stat_index(archive.get(), i, ZIP_FL_ENC_RAW, &status) != 0 || !file) return {};
    std::string content(status.size, '\0');
    if (zip_fread(file.get(), content.data(), content.size()) !=
        static_cast<zip_int64_t>(content.size()))
      return {};
    contents.emplace_back(status.name, sha256(as_bytes(content)));
  }
  std::sort(contents.begin(), contents.end());
  return contents;
}

/// Reads many archives at once, since starting Python takes longer than reading one.
std::vector<std::optional<Contents>> as_python_sees(const std::vector<std::string>& archives) {
  const test::TemporaryFolder folder;
  std::string input;
  for (const std::string& archive : archives)
    input += std::to_string(archive.size()) + "\n" + archive;
  const auto in = folder.write("in", input);
  const auto out = folder / "out";
  const std::string command = "python3 '" + test::in_sources("tests/hostile/read_zips.py") +
                              "' <'" + in.native() + "' >'" + out.native() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<std::optional<Contents>> all;
  std::istringstream lines(test::read_file(out));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    all.push_back(json.is_null() ? std::optional<Contents>() : json.get<Contents>());
  }
  return all;
}

/// An archive as `vcap pack` writes it, with zip64 records from this size or offset on.
std::string packed(const Files& files, std::uint64_t zip64_from) {
  std::string bytes;
  ArchiveWriter writer(
      [&](ArchiveWriter::Bytes part) {
        bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
      },
      zip64_from);
  for (const auto& [name, content] : files)
    writer.add(name, as_bytes(content), crc32(as_bytes(content)));
  writer.finish();
  return bytes;
}

constexpr std::uint64_t kNoZip64 = 0xffffffff;

TEST(MutatedArchive, IsAcceptedOnlyIfVcapWouldWriteIt) {
  constexpr unsigned kArchives = 100'000;
  const Files small{{"capsule.json", "{}"}, {"caf\xc3\xa9", "coffee"}};
  const Files more{{"a", std::string(3000, 'x')}, {"b/c", "stored"}, {"empty", ""}};
  const std::pair<Files, std::uint64_t> originals[] = {
      {small, kNoZip64}, {more, kNoZip64}, {small, 1}, {more, 5000}};
  std::vector<std::string> sound;
  for (const auto& [files, zip64_from] : originals) sound.push_back(packed(files, zip64_from));
  unsigned same = 0;
  for (unsigned seed = 0; seed < kArchives; ++seed) {
    const std::size_t which = seed % sound.size();
    const std::uint64_t zip64_from = originals[which].second;
    const std::string bytes = test::Mutator(seed)(sound[which]);
    const auto files = as_vcap_sees(bytes, zip64_from);
    if (!files) continue;
    ASSERT_TRUE(packed(*files, zip64_from) == bytes) << "seed " << seed;
    ++same;
  }
  std::printf("of %u mutated archives %u were accepted, each as vcap writes it\n", kArchives, same);
  EXPECT_LT(same, kArchives / 2);
}

/// Files with names and contents of many forms.
Files random_files(test::Mutator& random) {
  const std::string names[] = {"a",
                               "b/c",
                               "caf\xc3\xa9",
                               "capsule.json",
                               "lib/linux-x86_64/capsule.so",
                               std::string(200, 'n') + "/" + std::string(255, 'm'),
                               "\xe4\xba\xba/\xf0\x9f\x98\x80.bin"};
  Files files;
  for (const std::string& name : names) {
    if (random.below(2) == 0) continue;
    const std::size_t sizes[] = {0, 1, 7, 4095, 4096, 4097, random.below(20000)};
    std::string content(sizes[random.below(std::size(sizes))], '\0');
    for (char& one : content) one = static_cast<char>(random.below(256));
    files.emplace_back(name, std::move(content));
  }
  return files;
}

TEST(WrittenArchive, HasTheSameContentForEveryOtherReader) {
  constexpr unsigned kArchives = 1000;
  std::setlocale(LC_CTYPE, "C.UTF-8");  // libarchive converts names to the locale's encoding
  std::vector<std::string> archives;
  std::vector<Contents> expected;
  int refused_by_libzip = 0, refused_by_seeking = 0, refused_by_streaming = 0,
      refused_by_python = 0;
  const auto compare = [](const std::optional<Contents>& other, const Contents& wanted,
                          int& refused) {
    if (!other)
      ++refused;
    else
      ASSERT_EQ(wanted, *other);
  };
  for (unsigned seed = 0; seed < kArchives; ++seed) {
    SCOPED_TRACE(seed);
    test::Mutator random(seed);
    const Files files = random_files(random);
    const std::uint64_t zip64_from = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 5000 : kNoZip64;
    const std::string bytes = packed(files, zip64_from);
    const auto seen = as_vcap_sees(bytes, zip64_from);
    ASSERT_TRUE(seen);
    ASSERT_TRUE(*seen == files);
    const Contents contents = digests_of(files);
    compare(as_libzip_sees(bytes), contents, refused_by_libzip);
    compare(as_libarchive_sees(bytes, false), contents, refused_by_seeking);
    compare(as_libarchive_sees(bytes, true), contents, refused_by_streaming);
    archives.push_back(bytes);
    expected.push_back(contents);
  }
  const auto others = as_python_sees(archives);
  ASSERT_EQ(others.size(), archives.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    SCOPED_TRACE(i);
    compare(others[i], expected[i], refused_by_python);
  }
  std::printf(
      "of %u archives others refused: libzip %d, libarchive %d, as a stream %d, Python %d\n",
      kArchives, refused_by_libzip, refused_by_seeking, refused_by_streaming, refused_by_python);
  for (const int refused :
       {refused_by_libzip, refused_by_seeking, refused_by_streaming, refused_by_python})
    EXPECT_LT(refused, static_cast<int>(kArchives) / 10);
}

}  // namespace
}  // namespace vcap
