// SPDX-License-Identifier: Apache-2.0
// What a large file costs a host before it is refused, in each mode; and files that somebody else
// truncates while they are loaded.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "loading/archive/archive_records.hpp"
#include "loading/archive/signature_block.hpp"
#include "loading/open_capsule.hpp"
#include "loading/signed_capsules.hpp"
#include "loading/trust.hpp"
#include "support/peak_memory.hpp"
#include "support/throws_error.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

using test::PeakMemory;
using test::secret_key;
using test::signed_by;
using test::TemporaryFolder;
using test::trusting;
using testing::HasSubstr;

constexpr std::uint64_t kSparse = std::uint64_t{4} << 30;

/// A large file that takes no room on the disk: `head`, zeros, and then `tail`.
std::filesystem::path sparse_file(const TemporaryFolder& folder, const std::string& head,
                                  const std::string& tail, std::uint64_t size = kSparse) {
  const auto path = folder.write("sparse.cap", head);
  std::filesystem::resize_file(path, size - tail.size());
  std::ofstream(path, std::ios::binary | std::ios::app) << tail;
  return path;
}

/// What a call in a child process gives and costs.
struct Cost {
  int code = 0;  ///< of vcap's error; 0: none
  long kib = 0;  ///< peak of resident memory, beyond what the child began with
};

constexpr long kMostKib = 64 * 1024;

/// Memory files do not count as resident memory; a larger one than kMostKib gives another error
/// (limit_exceeded) than the caller expects.
template <class Call>
Cost cost_of(Call call) {
  // Shared with the child.
  auto* const cost = static_cast<Cost*>(
      ::mmap(nullptr, sizeof(Cost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit most{kMostKib * 1024, kMostKib * 1024};
    std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &most);
    const PeakMemory memory;
    try {
      call();
    } catch (const Error& error) {
      cost->code = static_cast<int>(error.code());
    } catch (...) {
      cost->code = -1;
    }
    cost->kib = memory.kib();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const Cost result = *cost;
  ::munmap(cost, sizeof(Cost));
  EXPECT_TRUE(WIFEXITED(status)) << "the child died";
  return result;
}

PublicKey public_key_of(std::uint8_t value) { return secret_key(value).public_key(); }

/// The last bytes of a capsule that this key has signed: the end record and the block.
std::string signed_end(std::uint8_t key) {
  const std::string file = signed_by(test::codeless_capsule('w'), {secret_key(key)});
  return file.substr(file.size() - kSignatureBlockSize - 22);
}

struct SparseCase {
  const char* title;
  std::string tail;
  TrustPolicy policy;
  ErrorCode code;
};

std::vector<SparseCase> sparse_cases() {
  const std::vector<PublicKey> one{public_key_of(1)};
  return {{"Unsigned", "", {.require_signature = true, .keys = one}, ErrorCode::unsigned_capsule},
          {"ByAStranger",
           signed_end(2),
           {.require_signature = true, .keys = one},
           ErrorCode::unknown_key},
          {"ByARevokedKey",
           signed_end(1),
           {.require_signature = true, .keys = one, .revoked = {one[0].id()}},
           ErrorCode::revoked_key}};
}

TEST(SparseCapsule, IsRefusedByItsLastBytesIfNoSignatureCanCount) {
  const TemporaryFolder folder;
  for (const SparseCase& one : sparse_cases()) {
    SCOPED_TRACE(one.title);
    const auto path = sparse_file(folder, "PK\x03\x04", one.tail);
    const ByteReader reader(open_regular_file(path), "the file");
    EXPECT_THAT([&] { check_signatures(reader, one.policy, "the file"); },
                ThrowsError<UntrustedCapsuleError>(one.code, HasSubstr("the file")));
    EXPECT_LE(reader.bytes_read(), kSignatureBlockSize + 22);
    const Cost cost = cost_of([&] { load_capsule(path, trusting(one.policy)); });
    EXPECT_EQ(cost.code, static_cast<int>(one.code));
    EXPECT_LE(cost.kib, kMostKib);
  }
}

TEST(SparseCapsule, TakesNoMemoryIfAKnownKeyWasForged) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kSize = 200u << 20;  // 4 GiB take ten seconds to digest
  const auto path = sparse_file(folder, "PK\x03\x04", signed_end(1), kSize);
  const Cost cost = cost_of([&] {
    load_capsule(path, trusting({.require_signature = true, .keys = {public_key_of(1)}}));
  });
  EXPECT_EQ(cost.code, static_cast<int>(ErrorCode::bad_signature));
  EXPECT_LE(cost.kib, kMostKib);
}

TEST(SparseCapsule, TakesNoMemoryIfOnlyOthersSignedItAndItNeedsNoSignature) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kSize = 200u << 20;  // it is read for the checksum of the block
  const auto path = sparse_file(folder, "PK\x03\x04", signed_end(2), kSize);
  const Cost cost = cost_of([&] { load_capsule(path, trusting({.keys = {public_key_of(1)}})); });
  EXPECT_EQ(cost.code, static_cast<int>(ErrorCode::bad_signature));
  EXPECT_LE(cost.kib, kMostKib);
}

TEST(SparseCapsule, IsNotReadIfItIsLargerThanTheLimits) {
  const TemporaryFolder folder;
  const auto path = sparse_file(folder, "PK\x03\x04", signed_end(2));
  LoadOptions options = trusting({.keys = {public_key_of(1)}});
  options.limits.total_bytes = kSparse / 2;
  EXPECT_THAT([&] { load_capsule(path, options); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::limit_exceeded,
                                               HasSubstr("ArchiveLimits::total_bytes")));
}

TEST(SparseCapsule, TakesNoMemoryWithoutAPolicy) {
  const TemporaryFolder folder;
  const std::string capsule = test::codeless_capsule('w');
  const auto path = sparse_file(folder, capsule, "");
  const Cost cost = cost_of([&] { load_capsule(path); });
  EXPECT_EQ(cost.code, static_cast<int>(ErrorCode::not_an_archive));
  EXPECT_LE(cost.kib, kMostKib);
}

TEST(SparseCapsule, TakesNoMemoryIfItNeedsNoSignature) {
  const TemporaryFolder folder;
  const auto path = sparse_file(folder, test::codeless_capsule('w'), "");
  const Cost cost = cost_of([&] { load_capsule(path, trusting({.keys = {public_key_of(1)}})); });
  EXPECT_EQ(cost.code, static_cast<int>(ErrorCode::not_an_archive));
  EXPECT_LE(cost.kib, kMostKib);
}

/// The end of an archive whose only entry has this size; all of its records are right.
std::string large_records(std::uint64_t size) {
  const ArchiveRecords records;
  const ArchiveEntry entry{.name = "capsule.json", .crc32 = 0, .size = size};
  const auto header = records.directory_header(entry);
  const auto local = records.local_header(entry);
  const auto end = records.end(1, local.size() + size, header.size(), 0);
  std::string tail(reinterpret_cast<const char*>(header.data()), header.size());
  tail.append(reinterpret_cast<const char*>(end.data()), end.size());
  return tail;
}

TEST(SparseCapsule, TakesNoMemoryForAHugeManifest) {
  const TemporaryFolder folder;
  const std::uint64_t size = kSparse - (1 << 20);
  const auto local =
      ArchiveRecords().local_header({.name = "capsule.json", .crc32 = 0, .size = size});
  const auto path =
      folder.write("large.cap", {reinterpret_cast<const char*>(local.data()), local.size()});
  std::filesystem::resize_file(path, local.size() + size);
  std::ofstream(path, std::ios::binary | std::ios::app) << large_records(size);
  const Cost cost = cost_of([&] { load_capsule(path); });
  EXPECT_EQ(cost.code, static_cast<int>(ErrorCode::limit_exceeded));
  EXPECT_LE(cost.kib, kMostKib);
}

TEST(SparseCapsule, TakesNoMemoryIfOnlyItsBeginningWasEncrypted) {
  const TemporaryFolder folder;
  LoadOptions options;
  options.key = test::encryption_key(7);
  // Two genuine chunks, and then zeros.
  const std::string genuine =
      test::encrypted_by(*options.key, std::string(3000, 'x'), {.chunk_size = 1000});
  const auto path = sparse_file(folder, genuine.substr(0, 64 + 2 * 1017), "");
  const Cost cost = cost_of([&] { load_capsule(path, options); });
  EXPECT_EQ(cost.code, static_cast<int>(ErrorCode::damaged_encryption));
  EXPECT_LE(cost.kib, kMostKib);
}

TEST(SparseCapsule, TakesNoMoreThanAChunkWithoutItsKey) {
  const TemporaryFolder folder;
  constexpr std::uint32_t kLargestChunk = 1u << 20;
  const std::string genuine = test::encrypted_by(
      test::encryption_key(7), std::string(3 * kLargestChunk, 'x'), {.chunk_size = kLargestChunk});
  const auto path = sparse_file(folder, genuine.substr(0, 64 + kLargestChunk + 17), "");
  LoadOptions wrong;
  wrong.key = test::encryption_key(8);
  for (const auto& [options, code] :
       {std::pair(LoadOptions(), ErrorCode::encrypted_capsule), {wrong, ErrorCode::wrong_key}}) {
    SCOPED_TRACE(to_string(code));
    const Cost cost = cost_of([&path, &options = options] { load_capsule(path, options); });
    EXPECT_EQ(cost.code, static_cast<int>(code));
    EXPECT_LE(cost.kib, kMostKib);
  }
}

/// What a check finds if the file is truncated before or while it runs: bytes that are missing, or
/// the zeros with which the kernel fills the last page.
bool tells_of_truncation(ErrorCode code) {
  switch (code) {
    case ErrorCode::capsule_changed:
    case ErrorCode::not_an_archive:
    case ErrorCode::ambiguous_archive:
    case ErrorCode::damaged_entry:
    case ErrorCode::digest_mismatch:
    case ErrorCode::unsigned_capsule:  // its end is gone, and with it the signature
    case ErrorCode::bad_signature:
    case ErrorCode::wrong_key:  // its first chunk was cut
    case ErrorCode::damaged_encryption:
      return true;
    default:
      return false;
  }
}

/// Truncates the file at moments that are spread over a call, in at least so many calls and until
/// one was refused. Gives the number of calls that were refused.
template <class Call>
int refused_calls(int calls, const std::string& capsule, Call call) {
  using Clock = std::chrono::steady_clock;
  const TemporaryFolder folder;
  const auto path = folder.write("a.cap", capsule);
  call(path);  // libraries are loaded now
  const auto begin = Clock::now();
  call(path);
  const auto time = Clock::now() - begin;
  int refused = 0;
  for (int i = 0; i < calls || (refused == 0 && i < 100 * calls); ++i) {
    folder.write("a.cap", capsule);
    const std::jthread other([&path, moment = time * (i % calls) / calls] {
      std::this_thread::sleep_for(moment);
      std::filesystem::resize_file(path, 5000);
    });
    try {
      call(path);
    } catch (const CapsuleLoadError& error) {
      EXPECT_TRUE(tells_of_truncation(error.code())) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("a.cap"));
      ++refused;
    }
  }
  return refused;
}

TEST(TruncatedCapsule, GivesATypedErrorAndNoSignalInEachMode) {
  const std::string capsule =
      test::CapsuleBuilder().file("model.bin", std::string(1 << 20, 'w')).bytes();
  LoadOptions decrypting;
  decrypting.key = test::encryption_key(7);
  const struct {
    const char* title;
    std::string bytes;
    LoadOptions options;
  } forms[] = {
      {"unsigned", capsule, {}},
      {"signed", signed_by(capsule, {secret_key(1)}),
       trusting({.require_signature = true, .keys = {public_key_of(1)}})},
      {"encrypted", test::encrypted_by(*decrypting.key, capsule, {}), decrypting},
  };
  constexpr int kCalls = 40;
  for (const auto& form : forms) {
    const int checks = refused_calls(kCalls, form.bytes, [&form](const std::string& path) {
      verify_capsule(path, form.options);
    });
    const int loads = refused_calls(
        kCalls, form.bytes, [&form](const std::string& path) { load_capsule(path, form.options); });
    std::printf("%s: %d checks and %d loads were lost to the truncation\n", form.title, checks,
                loads);
    EXPECT_GT(checks, 0) << form.title;
    EXPECT_GT(loads, 0) << form.title;
  }
}

TEST(TruncatedCapsule, IsRefusedIfItIsShorterWhenItsContentsAreRead) {
  const TemporaryFolder folder;
  const std::string capsule = test::codeless_capsule('w');
  const auto path = folder.write("a.cap", capsule);
  const OpenedCapsule opened = open_capsule(path, {});
  std::filesystem::resize_file(path, capsule.size() / 2);
  const auto says = ThrowsError<InvalidCapsuleError>(ErrorCode::capsule_changed,
                                                     HasSubstr("cannot be read at byte"));
  EXPECT_THAT([&] { opened.verify(); }, says);
  EXPECT_THAT([&] { static_cast<void>(opened.files()); }, says);
}

TEST(LoadCapsuleFile, RefusesAHugeLibraryBeforeItIsCopied) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.cap", test::CapsuleBuilder().bytes());
  LoadOptions options;
  options.limits.library_bytes = 1000;
  EXPECT_THAT([&] { load_capsule(path, options); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::limit_exceeded,
                                               HasSubstr("ArchiveLimits::library_bytes")));
}

}  // namespace
}  // namespace vcap
