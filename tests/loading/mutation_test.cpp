// SPDX-License-Identifier: Apache-2.0
// Damaged capsules: with any bytes, they are read, or refused with an error of vcap.
#include <gtest/gtest.h>

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "loading/capsule_builder.hpp"
#include "loading/opened_capsule.hpp"
#include "support/mutator.hpp"
#include "support/sanitizers.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {
namespace {

using test::CapsuleBuilder;
using test::Mutator;

/// A capsule of a few kilobytes. Its library is no code, so that no
/// damaged code could run here even if a digest were not checked.
std::string small_capsule() {
  CapsuleBuilder capsule("no code at all", fixture::info("fixture"));
  capsule.file("labels.txt", "person\nface\n").file("model.bin", std::string(2000, 'w'));
  return test::zip_bytes(
      {test::stored_entry("capsule.json", capsule.listed().dump(1)),
       test::stored_entry("labels.txt", capsule.files["labels.txt"]),
       test::stored_entry(test::library_entry(), capsule.files[test::library_entry()]),
       test::stored_entry("model.bin", capsule.files["model.bin"])});
}

/// Everything that can be read from the capsule without running code, as one text.
std::string read_all(const std::string& bytes) {
  OpenedCapsule opened(MappedFile::copy(std::as_bytes(std::span(bytes))), "the capsule",
                       ArchiveLimits{});
  opened.verify();
  const CapsuleFiles files = opened.files();
  std::string text = nlohmann::json(opened.manifest()).dump();
  for (const std::string& name : files.names()) text += name + std::string(files.text(name));
  return text;
}

enum class Outcome { refused, same, other };

Outcome outcome_of(const std::string& bytes, const std::string& original) {
  try {
    return read_all(bytes) == original ? Outcome::same : Outcome::other;
  } catch (const Error&) {
    return Outcome::refused;  // any other exception fails the test
  }
}

TEST(DamagedCapsule, IsReadOrRefusedWithAVcapError) {
  const std::string good = small_capsule();
  const std::string original = read_all(good);
  constexpr unsigned kSeeds = test::kUnderSanitizer ? 1000 : 5000;
  unsigned refused = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome = outcome_of(Mutator(seed)(good), original);
    // The manifest itself has no digest, so damage may change its descriptions. But its name and
    // its lists are checked against the files and the code.
    if (outcome == Outcome::refused) ++refused;
  }
  EXPECT_GT(refused, kSeeds * 9 / 10);
}

TEST(DamagedCapsule, NeverGivesAFileWithOtherBytes) {
  const std::string good = small_capsule();
  OpenedCapsule sound(MappedFile::copy(std::as_bytes(std::span(good))), "the capsule",
                      ArchiveLimits{});
  const CapsuleFiles expected = sound.files();
  for (std::size_t bit = 0; bit < good.size() * 8; bit += test::kSweepStep) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    try {
      OpenedCapsule opened(MappedFile::copy(std::as_bytes(std::span(bytes))), "the capsule",
                           ArchiveLimits{});
      opened.verify();
      const CapsuleFiles files = opened.files();
      for (const std::string& name : files.names()) {
        if (!expected.contains(name)) continue;  // renamed both in the archive and in the manifest
        EXPECT_EQ(files.text(name), expected.text(name)) << bit;
      }
    } catch (const Error&) {
    }
  }
}

TEST(DamagedCapsule, IsRefusedWhereverItIsCutShort) {
  const std::string good = small_capsule();
  for (std::size_t size = 0; size < good.size(); size += test::kSweepStep)
    EXPECT_THROW(read_all(good.substr(0, size)), InvalidCapsuleError) << size;
}

TEST(DamagedCapsule, IsRefusedBeforeAnyDamagedCodeIsLoaded) {
  const std::string good = CapsuleBuilder().bytes();
  const std::string library = test::read_file(test::plugin_path("good"));
  const std::size_t begin = good.find(library);
  ASSERT_NE(begin, good.npos);
  Mutator random(7);
  for (int i = 0; i < 200; ++i) {
    std::string bytes = good;
    const std::size_t at = begin + random.below(library.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    try {
      load_capsule(std::as_bytes(std::span(bytes)), {.inference_mode = false});
      ADD_FAILURE() << "loaded with byte " << at << " changed";
    } catch (const InvalidCapsuleError& error) {
      EXPECT_EQ(error.code(), ErrorCode::digest_mismatch) << error.what();
    }
  }
}

}  // namespace
}  // namespace vcap
