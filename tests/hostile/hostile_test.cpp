// SPDX-License-Identifier: Apache-2.0
// Every case of the corpus gives the expected error, writes nothing, and uses little memory and
// time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <set>

#include "hostile/hostile_case.hpp"
#include "support/peak_memory.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::HostileCase;
using test::HostileCases;
using test::PeakMemory;

constexpr long kMemoryKiB = 64 * 1024;
constexpr double kSeconds = 2;  // of CPU time, so that other load on the machine has no effect

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::set<fs::path> everything_in(const fs::path& folder) {
  std::set<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) found.insert(entry.path());
  return found;
}

/// The code of the error that `call` throws; `nullopt` if it throws nothing.
template <class Call>
std::optional<ErrorCode> code_of(Call call) {
  try {
    call();
    return {};
  } catch (const CapsuleLoadError& error) {
    EXPECT_TRUE(error.stage()) << error.what();
    return error.code();
  }
}

void expect_refused(const HostileCase& one, bool before_code) {
  SCOPED_TRACE(testing::PrintToString(one));
  const test::TemporaryFolder folder;
  const fs::path path = folder.write("hostile.cap", one.bytes());
  const auto before = everything_in(folder.path());

  const PeakMemory memory;
  const double began = cpu_seconds();
  EXPECT_EQ(code_of([&] { load_capsule(path); }), one.code);
  EXPECT_LE(cpu_seconds() - began, kSeconds);
  EXPECT_LE(memory.kib(), kMemoryKiB);
  if (before_code) {
    EXPECT_EQ(code_of([&] { verify_capsule(path); }), one.code);
    EXPECT_EQ(code_of([&] { unpackage_capsule(path, folder.path() / "unpacked"); }), one.code);
  }
  EXPECT_EQ(everything_in(folder.path()), before);
}

bool needs_code(const HostileCase& one) {
  return one.code == ErrorCode::abi_mismatch || one.code == ErrorCode::unsupported_platform;
}

TEST(HostileCorpus, HasEnoughCasesWithUniqueNames) {
  std::set<std::string> names;
  std::size_t count = 0;
  for (const HostileCases& cases :
       {test::archive_cases(), test::manifest_cases(), test::library_cases()}) {
    for (const HostileCase& one : cases) names.insert(one.name);
    count += cases.size();
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_GE(test::archive_cases().size(), 250u);
  EXPECT_GE(test::manifest_cases().size(), 60u);
  EXPECT_GE(test::library_cases().size(), 180u);
  EXPECT_GE(count, 600u);
  std::printf("%zu cases\n", count);
}

TEST(HostileCorpus, RefusesEveryArchive) {
  for (const HostileCase& one : test::archive_cases()) expect_refused(one, true);
}

TEST(HostileCorpus, RefusesEveryLibrary) {
  for (const HostileCase& one : test::library_cases()) expect_refused(one, false);
}

TEST(HostileCorpus, RefusesEveryManifest) {
  for (const HostileCase& one : test::manifest_cases()) expect_refused(one, !needs_code(one));
}

}  // namespace
}  // namespace vcap
