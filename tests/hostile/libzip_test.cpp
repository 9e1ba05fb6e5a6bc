// SPDX-License-Identifier: Apache-2.0
// Reads the same archives with libzip alone, in its strictest mode: shows what a loader would
// accept if it left the format's rules to libzip.
#include <gtest/gtest.h>
#include <zip.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "hostile/hostile_case.hpp"

namespace vcap {
namespace {

enum class Outcome { refused_at_open, refused_while_reading, accepted };

/// Opens with all checks, then reads every entry up to its declared size, as a plain loader does.
Outcome outcome_of(const std::string& bytes) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* const opened = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  zip_error_fini(&error);
  if (opened == nullptr) {
    zip_source_free(source);
    return Outcome::refused_at_open;
  }
  const std::unique_ptr<zip_t, decltype(&zip_discard)> archive(opened, &zip_discard);
  constexpr std::uint64_t kMost = 64u << 20;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t status;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &status) != 0)
      return Outcome::refused_while_reading;
    const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(
        zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0), &zip_fclose);
    if (!file) return Outcome::refused_while_reading;
    std::vector<char> content(std::min<std::uint64_t>(status.size, kMost));
    if (zip_fread(file.get(), content.data(), content.size()) < 0)
      return Outcome::refused_while_reading;
  }
  return Outcome::accepted;
}

TEST(Libzip, AcceptsArchivesThatVcapMustRefuse) {
  int at_open = 0, while_reading = 0, accepted = 0, structure = 0;
  for (const test::HostileCase& one : test::archive_cases()) {
    // Skips faults that only the manifest or the host's limits can show, not libzip.
    if (one.code == ErrorCode::digest_mismatch || one.code == ErrorCode::missing_entry ||
        one.code == ErrorCode::unlisted_entry || one.code == ErrorCode::no_manifest ||
        one.code == ErrorCode::limit_exceeded)
      continue;
    ++structure;
    switch (outcome_of(one.bytes())) {
      case Outcome::refused_at_open:
        ++at_open;
        break;
      case Outcome::refused_while_reading:
        ++while_reading;
        break;
      case Outcome::accepted:
        ++accepted;
    }
  }
  std::printf("libzip %s, of %d archives: %d refused at open, %d while reading, %d accepted\n",
              zip_libzip_version(), structure, at_open, while_reading, accepted);
  // If libzip refuses them all some day, vcap no longer needs its own scan.
  EXPECT_GT(accepted, structure / 4);
}

}  // namespace
}  // namespace vcap
