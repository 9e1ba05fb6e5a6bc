// SPDX-License-Identifier: Apache-2.0
// The bound of the cache, and the interaction of its users. Two ResourceCaches interact like two
// processes, since their locks belong to open files and not to processes.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>

#include "files/digest.hpp"
#include "loading/resources/resource_cache.hpp"
#include "loading/resources/resource_failure.hpp"
#include "support/bounded_wait.hpp"
#include "support/resource_server.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ResourceEviction : public testing::Test {
 protected:
  /// A resource of 1000 bytes.
  Resource resource(const std::string& name, const std::string& behaviour = "ok") {
    const std::string content = name + std::string(1000 - name.size(), '.');
    server.write(name, content);
    return {.name = name,
            .url = server.url(behaviour, name),
            .sha256 = sha256(std::as_bytes(std::span(content))),
            .size = content.size()};
  }
  std::shared_ptr<const HeldResource> obtain(const Resource& wanted) {
    return ResourceCache(options).obtain(wanted);
  }
  bool has(const Resource& wanted, const std::string& ending = "") const {
    return fs::exists(fs::path(options.cache) / "resources" / (wanted.sha256 + ending));
  }

  const test::ResourceServer server;
  const test::TemporaryFolder folder;
  ResourceOptions options{
      .cache = folder / "cache", .cache_bytes = 2500, .attempts = 1, .wait = [](auto) {}};
};

TEST_F(ResourceEviction, RemovesTheLeastRecentlyUsedFile) {
  const Resource a = resource("a");
  const Resource b = resource("b");
  const Resource c = resource("c");
  obtain(a);
  obtain(b);
  obtain(a);
  obtain(c);
  EXPECT_TRUE(has(a));
  EXPECT_FALSE(has(b));
  EXPECT_TRUE(has(c));
}

TEST_F(ResourceEviction, RemovesNoFileInUse) {
  const Resource a = resource("a");
  const Resource b = resource("b");
  const auto held = obtain(a);
  obtain(b);
  obtain(resource("c"));
  EXPECT_TRUE(has(a));
  EXPECT_FALSE(has(b));
}

TEST_F(ResourceEviction, RefusesAFileThatDoesNotFitBesideFilesInUse) {
  auto a = obtain(resource("a"));
  const auto b = obtain(resource("b"));
  const Resource c = resource("c");
  EXPECT_THAT(
      [&] { obtain(c); },
      testing::Throws<ResourceFailure>(
          AllOf(testing::Property(&ResourceFailure::code, ErrorCode::resource_cache),
                testing::Property(&ResourceFailure::what, AllOf(HasSubstr("limited to 2500 bytes"),
                                                                HasSubstr("would take 3000"))))));
  EXPECT_FALSE(has(c, ".part"));
  EXPECT_THAT(server.log("ok", "c"), ElementsAre());
  a.reset();
  EXPECT_NO_THROW(obtain(c));
}

TEST_F(ResourceEviction, RefusesAFileLargerThanTheCache) {
  const Resource a = resource("a");
  obtain(a);
  Resource large = resource("large");
  large.size = 2501;
  EXPECT_THAT([&] { obtain(large); },
              testing::Throws<ResourceFailure>(testing::Property(
                  &ResourceFailure::what, HasSubstr("its 2501 bytes do not fit into the cache"))));
  EXPECT_TRUE(has(a));
}

TEST_F(ResourceEviction, CountsAndRemovesAbandonedParts) {
  const Resource a = resource("a", "always-cut");
  EXPECT_THROW(obtain(a), ResourceFailure);
  EXPECT_TRUE(has(a, ".part"));
  obtain(resource("b"));
  EXPECT_TRUE(has(a, ".part"));
  obtain(resource("c"));
  EXPECT_FALSE(has(a, ".part"));
}

TEST_F(ResourceEviction, LeavesOtherFilesAlone) {
  folder.write("cache/resources/notes.txt", std::string(5000, 'n'));
  obtain(resource("a"));
  obtain(resource("b"));
  obtain(resource("c"));
  EXPECT_TRUE(fs::exists(folder / "cache/resources/notes.txt"));
}

TEST_F(ResourceEviction, RebuildsADamagedIndexFromTheFolder) {
  const Resource a = resource("a");
  const Resource b = resource("b");
  obtain(a);
  obtain(b);
  for (const std::string& damage : {std::string("{"), std::string(), std::string(40, '\xff')}) {
    folder.write("cache/resources/index.json", damage);
    EXPECT_NO_THROW(obtain(a));
    EXPECT_NO_THROW(obtain(b));
  }
  obtain(resource("c"));
  EXPECT_FALSE(has(a));
  EXPECT_TRUE(has(b));
}

/// Detects in the log that a user of the cache waits for another one's fetch.
class WaitingSeen {
 public:
  WaitingSeen() {
    set_log_hook([this](LogLevel, std::string_view line) {
      if (line.find("another process is fetching") != line.npos) seen_ = true;
    });
  }
  WaitingSeen(const WaitingSeen&) = delete;
  WaitingSeen& operator=(const WaitingSeen&) = delete;
  ~WaitingSeen() { set_log_hook({}); }
  void wait() const {
    test::yield_until("a caller that waits for a fetch", [this] { return seen_.load(); });
  }

 private:
  std::atomic<bool> seen_ = false;
};

TEST_F(ResourceEviction, FetchesOnceForTwoCallers) {
  const Resource a = resource("a", "gate");
  const WaitingSeen waiting;
  auto first = std::async(std::launch::async, [&] { return obtain(a); });
  auto second = std::async(std::launch::async, [&] { return obtain(a); });
  waiting.wait();
  server.open_gate();
  EXPECT_EQ(first.get()->path, second.get()->path);
  EXPECT_THAT(server.log("gate", "a"), ElementsAre("-"));
}

TEST_F(ResourceEviction, FailsForBothCallers) {
  const Resource a = resource("a", "gate-404");
  const WaitingSeen waiting;
  const auto reason = [&] {
    try {
      obtain(a);
    } catch (const ResourceFailure& failure) {
      EXPECT_EQ(failure.code(), ErrorCode::resource_unavailable);
      return std::string(failure.what());
    }
    return std::string();
  };
  auto first = std::async(std::launch::async, reason);
  auto second = std::async(std::launch::async, reason);
  waiting.wait();
  server.open_gate();
  const std::string expected = a.url + ": the server answered 404; check the URL";
  EXPECT_EQ(first.get(), expected);
  EXPECT_EQ(second.get(), expected);
  EXPECT_THAT(server.log("gate-404", "a"), ElementsAre("-"));
  // A later caller tries again.
  EXPECT_EQ(reason(), expected);
  EXPECT_THAT(server.log("gate-404", "a"), ElementsAre("-", "-"));
}

}  // namespace
}  // namespace vcap
