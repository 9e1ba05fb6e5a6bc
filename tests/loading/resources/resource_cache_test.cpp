// SPDX-License-Identifier: Apache-2.0
// Fetches from a real HTTP server on loopback, which also behaves badly on request.
#include "loading/resources/resource_cache.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "files/digest.hpp"
#include "loading/resources/resource_failure.hpp"
#include "support/as_nobody.hpp"
#include "support/resource_server.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Waits = std::vector<std::chrono::milliseconds>;

std::string text_of(const HeldResource& file) {
  const auto bytes = file.content->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Bytes that differ by position, so that a part at a wrong position is detected.
std::string numbers(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + " ";
  text.resize(size);
  return text;
}

class ResourceCacheTest : public testing::Test {
 protected:
  /// A file of the server as a resource; the server shows that behaviour for it.
  Resource resource(const std::string& behaviour, const std::string& content = numbers(10'000)) {
    server.write("a.bin", content);
    return {.name = "a.bin",
            .url = server.url(behaviour, "a.bin"),
            .sha256 = sha256(std::as_bytes(std::span(content))),
            .size = content.size()};
  }
  std::vector<std::string> requests(const std::string& behaviour) const {
    return server.log(behaviour, "a.bin");
  }
  std::shared_ptr<const HeldResource> obtain(const Resource& wanted) {
    return ResourceCache(options).obtain(wanted);
  }
  /// The error of obtaining it.
  ResourceFailure failure(const Resource& wanted) {
    try {
      obtain(wanted);
    } catch (const ResourceFailure& thrown) {
      return thrown;
    }
    throw std::logic_error("it was to fail, and did not");
  }
  fs::path in_cache(const Resource& wanted, const std::string& ending = "") const {
    return fs::path(options.cache) / "resources" / (wanted.sha256 + ending);
  }
  void put(const Resource& wanted, const std::string& ending, const std::string& content) const {
    folder.write("cache/resources/" + wanted.sha256 + ending, content);
  }

  const test::ResourceServer server;
  const test::TemporaryFolder folder;
  Waits waits;
  ResourceOptions options{.cache = folder / "cache", .attempts = 3, .wait = [this](auto pause) {
                            waits.push_back(pause);
                          }};
};

TEST_F(ResourceCacheTest, FetchesOnceAndThenReadsTheCache) {
  const Resource wanted = resource("ok");
  const auto first = obtain(wanted);
  const auto second = obtain(wanted);
  EXPECT_EQ(text_of(*first), numbers(10'000));
  EXPECT_EQ(text_of(*second), numbers(10'000));
  EXPECT_EQ(first->path, in_cache(wanted));
  EXPECT_THAT(requests("ok"), ElementsAre("-"));
  EXPECT_FALSE(fs::exists(in_cache(wanted, ".part")));
}

TEST_F(ResourceCacheTest, FollowsARedirect) {
  EXPECT_EQ(text_of(*obtain(resource("moved"))), numbers(10'000));
}

TEST_F(ResourceCacheTest, FetchesALocalFile) {
  Resource wanted = resource("ok");
  wanted.url = "file://" + server.write("a.bin", numbers(10'000)).native();
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  EXPECT_THAT(requests("ok"), IsEmpty());
}

TEST_F(ResourceCacheTest, ReportsAMissingLocalFileWithoutTryingAgain) {
  Resource wanted = resource("ok");
  wanted.url = "file:///nowhere/a.bin";
  const ResourceFailure thrown = failure(wanted);
  EXPECT_EQ(thrown.code(), ErrorCode::resource_unavailable);
  EXPECT_THAT(thrown.what(), HasSubstr("/nowhere/a.bin"));
  EXPECT_THAT(waits, IsEmpty());
}

TEST_F(ResourceCacheTest, ResumesAnInterruptedTransfer) {
  EXPECT_EQ(text_of(*obtain(resource("cut"))), numbers(10'000));
  EXPECT_THAT(requests("cut"), ElementsAre("-", "bytes=5000-"));
  EXPECT_THAT(waits, ElementsAre(500ms));
}

TEST_F(ResourceCacheTest, StartsAgainIfTheServerDoesNotSupportRanges) {
  EXPECT_EQ(text_of(*obtain(resource("cut-no-ranges"))), numbers(10'000));
  EXPECT_THAT(requests("cut-no-ranges"), ElementsAre("-", "bytes=5000-"));
}

TEST_F(ResourceCacheTest, ResumesInALaterLoad) {
  Resource wanted = resource("always-cut");
  options.attempts = 1;
  EXPECT_EQ(failure(wanted).code(), ErrorCode::resource_unavailable);
  EXPECT_EQ(fs::file_size(in_cache(wanted, ".part")), 5000u);
  wanted.url = server.url("ok", "a.bin");
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  EXPECT_THAT(requests("ok"), ElementsAre("bytes=5000-"));
}

TEST_F(ResourceCacheTest, StartsAgainIfTheServerSendsAnotherRange) {
  EXPECT_EQ(text_of(*obtain(resource("other-range"))), numbers(10'000));
  EXPECT_THAT(waits, ElementsAre(500ms));
}

TEST_F(ResourceCacheTest, StartsAgainIfThePartIsOfAnotherFile) {
  const Resource wanted = resource("ok");
  put(wanted, ".part", std::string(3000, 'x'));
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  EXPECT_THAT(requests("ok"), ElementsAre("bytes=3000-", "-"));
}

TEST_F(ResourceCacheTest, StartsAgainIfThePartIsTooLong) {
  const Resource wanted = resource("ok");
  put(wanted, ".part", std::string(10'001, 'x'));
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  EXPECT_THAT(requests("ok"), ElementsAre("-"));
}

TEST_F(ResourceCacheTest, SendsNoRequestIfThePartIsComplete) {
  const Resource wanted = resource("ok");
  put(wanted, ".part", numbers(10'000));
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  EXPECT_THAT(requests("ok"), IsEmpty());
}

TEST_F(ResourceCacheTest, TriesAgainAfterAServerError) {
  EXPECT_EQ(text_of(*obtain(resource("500-then-ok"))), numbers(10'000));
  EXPECT_THAT(requests("500-then-ok"), ElementsAre("-", "-"));
  EXPECT_THAT(waits, ElementsAre(500ms));
}

TEST_F(ResourceCacheTest, FetchesADamagedFileAgain) {
  const Resource wanted = resource("ok");
  put(wanted, "", "damaged");
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
}

TEST_F(ResourceCacheTest, DetectsThatAFileChangedSinceItWasChecked) {
  const Resource wanted = resource("ok");
  obtain(wanted);
  put(wanted, "", std::string(10'000, 'x'));
  // File systems have coarse clocks: without this, both files could have the same time.
  fs::last_write_time(in_cache(wanted), fs::last_write_time(in_cache(wanted)) + 1s);
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  EXPECT_THAT(requests("ok"), ElementsAre("-", "-"));
}

// Failures. Each names its reason, tries again only if that may help, and leaves no file that could
// be mistaken for the resource.

struct Failing {
  const char* behaviour;
  ErrorCode code;
  std::size_t requests;
  const char* reason;
};

class FailingResource : public ResourceCacheTest, public testing::WithParamInterface<Failing> {};

TEST_P(FailingResource, IsReportedWithItsReason) {
  const Failing& expected = GetParam();
  const Resource wanted = resource(expected.behaviour, numbers(4 << 20));
  const ResourceFailure thrown = failure(wanted);
  EXPECT_EQ(thrown.code(), expected.code) << thrown.what();
  EXPECT_THAT(thrown.what(), HasSubstr(expected.reason));
  EXPECT_EQ(requests(expected.behaviour).size(), expected.requests);
  EXPECT_FALSE(fs::exists(in_cache(wanted)));
  const bool keeps_part = std::string(expected.behaviour) == "always-cut";
  EXPECT_EQ(fs::exists(in_cache(wanted, ".part")), keeps_part);
}

INSTANTIATE_TEST_SUITE_P(
    Resource, FailingResource,
    testing::Values(
        Failing{"404", ErrorCode::resource_unavailable, 1, "the server answered 404"},
        Failing{"500", ErrorCode::resource_unavailable, 3,
                "the server answered 500 (the last of 3 tries)"},
        Failing{"always-cut", ErrorCode::resource_unavailable, 3, "the last of 3 tries"},
        Failing{"loop", ErrorCode::resource_unavailable, 6, "redirects more than 5 times"},
        Failing{"to-file", ErrorCode::resource_unavailable, 1, "redirects from http to file:///"},
        Failing{"to-stranger", ErrorCode::resource_unavailable, 1,
                "redirects to http://example.invalid/a.bin, which is http:// to another machine"},
        Failing{"nowhere", ErrorCode::resource_unavailable, 1, "the server answered 302"},
        Failing{"no-content", ErrorCode::resource_unavailable, 1, "the server answered 204"},
        Failing{"short", ErrorCode::resource_mismatch, 1,
                "the server has 4194303 bytes, but the capsule declares 4194304"},
        Failing{"short-untold", ErrorCode::resource_mismatch, 1, "the server sent 4194303 bytes"},
        Failing{"long", ErrorCode::resource_mismatch, 1, "the server has 4194308 bytes"},
        Failing{"endless", ErrorCode::resource_mismatch, 1,
                "the server sends more than the 4194304 bytes"},
        Failing{"empty", ErrorCode::resource_mismatch, 1, "the server has 0 bytes"},
        Failing{"wrong", ErrorCode::resource_mismatch, 1, "the fetched file has SHA-256 "}),
    [](const auto& test_info) {
      std::string name = test_info.param.behaviour;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST_F(ResourceCacheTest, AbortsATransferThatIsTooSlow) {
  options.stall_timeout = 1s;
  options.attempts = 1;
  const ResourceFailure thrown = failure(resource("slow"));
  EXPECT_EQ(thrown.code(), ErrorCode::resource_unavailable);
  EXPECT_THAT(thrown.what(), HasSubstr("Operation too slow"));
}

TEST_F(ResourceCacheTest, AbortsATransferThatNeverBegins) {
  options.stall_timeout = 1s;
  options.attempts = 1;
  EXPECT_THAT(failure(resource("silent")).what(), HasSubstr("Operation too slow"));
}

TEST_F(ResourceCacheTest, DoublesTheWaitBeforeEachRetryUpToALimit) {
  options.attempts = 9;
  failure(resource("500"));
  EXPECT_THAT(waits, ElementsAre(500ms, 1000ms, 2000ms, 4000ms, 8000ms, 16000ms, 30000ms, 30000ms));
}

TEST_F(ResourceCacheTest, NamesTheAddressIfNoServerListens) {
  Resource wanted = resource("ok");
  wanted.url = "http://127.0.0.1:1/a.bin";
  const ResourceFailure thrown = failure(wanted);
  EXPECT_EQ(thrown.code(), ErrorCode::resource_unavailable);
  EXPECT_THAT(thrown.what(), HasSubstr("127.0.0.1 port 1"));
  EXPECT_THAT(waits, testing::SizeIs(2));
}

TEST_F(ResourceCacheTest, UsesTheMirrorInsteadOfTheUrl) {
  Resource wanted = resource("ok");
  server.write(wanted.sha256, numbers(10'000));
  options.mirror = server.root() + "/moved";
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  EXPECT_THAT(server.log("moved", wanted.sha256), ElementsAre("-"));
  EXPECT_THAT(requests("ok"), IsEmpty());
}

TEST_F(ResourceCacheTest, UsesTheProxyOfTheEnvironment) {
  Resource wanted = resource("ok");
  wanted.url = "http://localhost:1/ok/a.bin";
  ::setenv("http_proxy", server.root().c_str(), 1);
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  ::unsetenv("http_proxy");
  EXPECT_THAT(server.log("proxied", "ok/a.bin"), ElementsAre("localhost:1"));
}

TEST_F(ResourceCacheTest, NamesTheMissingFileAndItsPathWhenOffline) {
  const Resource wanted = resource("ok");
  options.offline = true;
  const ResourceFailure thrown = failure(wanted);
  EXPECT_EQ(thrown.code(), ErrorCode::resource_offline);
  EXPECT_THAT(thrown.what(),
              HasSubstr("put the file with SHA-256 " + wanted.sha256 + " and 10000 bytes at " +
                        in_cache(wanted).native() + " (its source is " + wanted.url + ")"));
  EXPECT_THAT(requests("ok"), IsEmpty());
  EXPECT_FALSE(fs::exists(options.cache));

  put(wanted, "", numbers(10'000));
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
}

TEST_F(ResourceCacheTest, KeepsAWrongFileWhenOffline) {
  const Resource wanted = resource("ok");
  options.offline = true;
  put(wanted, "", "another");
  const ResourceFailure thrown = failure(wanted);
  EXPECT_EQ(thrown.code(), ErrorCode::resource_mismatch);
  EXPECT_THAT(thrown.what(), AllOf(HasSubstr("has 7 bytes, but the capsule declares 10000"),
                                   HasSubstr("put the file with SHA-256 " + wanted.sha256)));
  EXPECT_EQ(test::read_file(in_cache(wanted)), "another");
}

TEST_F(ResourceCacheTest, SaysThatItsFolderCannotBeMade) {
  options.cache = folder.write("file", "") / "cache";
  const ResourceFailure thrown = failure(resource("ok"));
  EXPECT_EQ(thrown.code(), ErrorCode::resource_cache);
  EXPECT_THAT(thrown.what(), AllOf(HasSubstr((folder / "file/cache/resources").native()),
                                   HasSubstr("VCAP_CACHE")));
  EXPECT_THAT(requests("ok"), IsEmpty());
}

TEST_F(ResourceCacheTest, ReportsAFullDiskAndResumesOnceThereIsRoom) {
  const Resource wanted = resource("ok");
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 6000, .rlim_max = before.rlim_max};
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const ResourceFailure thrown = failure(wanted);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(thrown.code(), ErrorCode::resource_cache);
  EXPECT_THAT(thrown.what(), AllOf(HasSubstr("cannot write " + in_cache(wanted, ".part").native()),
                                   HasSubstr("make room")));
  EXPECT_THAT(waits, IsEmpty());
  EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000));
  EXPECT_THAT(requests("ok"), ElementsAre("-", "bytes=6000-"));
}

TEST_F(ResourceCacheTest, ServesFilesFromAReadOnlyFolder) {
  const Resource wanted = resource("ok");
  put(wanted, "", numbers(10'000));
  constexpr auto kReadOnly = static_cast<fs::perms>(0555);
  const std::vector<fs::path> folders{folder.path(), options.cache,
                                      fs::path(options.cache) / "resources"};
  for (const fs::path& each : folders) fs::permissions(each, kReadOnly);
  test::as_nobody([&] { EXPECT_EQ(text_of(*obtain(wanted)), numbers(10'000)); });
  for (const fs::path& each : folders) fs::permissions(each, fs::perms::owner_all);
}

TEST_F(ResourceCacheTest, MapsTheFilesThatItHolds) {
  const auto held = obtain(resource("ok"));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(held->content->bytes().data()) % 4096, 0u);
}

}  // namespace
}  // namespace vcap
