// SPDX-License-Identifier: Apache-2.0
// Compares vcap with other readers on mutated archives: if vcap accepts one, libzip, libarchive (by
// the directory and as a stream) and Python's zipfile read the same content, or refuse it.
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
#include "support/temporary_folder.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Names and digests, sorted.
using Contents = std::vector<std::pair<std::string, std::string>>;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::optional<Contents> as_vcap_sees(const std::string& bytes) {
  try {
    Archive archive(MappedFile::copy(as_bytes(bytes)), ArchiveLimits{}, "mutated");
    Contents contents;
    for (const ArchiveEntry& entry : archive.entries())
      contents.emplace_back(entry.name, sha256(archive.checked_content(entry)));
    std::sort(contents.begin(), contents.end());
    return contents;
  } catch (const InvalidCapsuleError&) {
    return {};
  }
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
  const std::string command =
      "python3 '" VCAP_HOSTILE "/read_zips.py' <'" + in.native() + "' >'" + out.native() + "'";
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
std::string packed(std::uint64_t zip64_from) {
  std::string bytes;
  ArchiveWriter writer(
      [&](ArchiveWriter::Bytes part) {
        bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
      },
      zip64_from);
  for (const auto& [name, content] :
       {std::pair<std::string, std::string>{"capsule.json", "{}"}, {"caf\xc3\xa9", "coffee"}})
    writer.add(name, as_bytes(content), crc32(as_bytes(content)));
  writer.finish();
  return bytes;
}

std::vector<std::string> originals() {
  return {test::zip_bytes(test::sound_entries()),
          test::zip_bytes({test::deflated_entry("a", "some text, some text, some text"),
                           test::stored_entry("b/c", "stored"), test::stored_entry("empty", "")}),
          packed(0xffffffff), packed(1)};
}

TEST(MutatedArchive, HasTheSameContentForEveryOtherReaderIfAccepted) {
  constexpr unsigned kArchives = 100'000;
  std::setlocale(LC_CTYPE, "C.UTF-8");  // libarchive converts names to the locale's encoding
  const std::vector<std::string> sound = originals();
  std::vector<std::string> accepted;
  std::vector<Contents> seen;
  int refused_by_libzip = 0, refused_by_seeking = 0, refused_by_streaming = 0,
      refused_by_python = 0;
  for (unsigned seed = 0; seed < kArchives; ++seed) {
    const std::string bytes = test::Mutator(seed)(sound[seed % sound.size()]);
    const auto contents = as_vcap_sees(bytes);
    if (!contents) continue;
    if (const auto other = as_libzip_sees(bytes); !other)
      ++refused_by_libzip;
    else
      ASSERT_EQ(*contents, *other) << "libzip, seed " << seed;
    if (const auto other = as_libarchive_sees(bytes, false); !other)
      ++refused_by_seeking;
    else
      ASSERT_EQ(*contents, *other) << "libarchive, seed " << seed;
    if (const auto other = as_libarchive_sees(bytes, true); !other)
      ++refused_by_streaming;
    else
      ASSERT_EQ(*contents, *other) << "libarchive's stream, seed " << seed;
    accepted.push_back(bytes);
    seen.push_back(*contents);
  }
  const auto others = as_python_sees(accepted);
  ASSERT_EQ(others.size(), accepted.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (!others[i])
      ++refused_by_python;
    else
      ASSERT_EQ(seen[i], *others[i]) << "Python's zipfile, accepted archive " << i;
  }
  std::printf(
      "of %u mutated archives %zu were accepted; of these others refused: libzip %d, "
      "libarchive %d, as a stream %d, Python %d\n",
      kArchives, accepted.size(), refused_by_libzip, refused_by_seeking, refused_by_streaming,
      refused_by_python);
  EXPECT_GT(accepted.size(), kArchives / 100) << "too few accepted archives for a comparison";
  for (const int refused :
       {refused_by_libzip, refused_by_seeking, refused_by_streaming, refused_by_python})
    EXPECT_LT(refused, static_cast<int>(accepted.size()) / 10);
}

}  // namespace
}  // namespace vcap
