// SPDX-License-Identifier: Apache-2.0
// What capsules fetch by their own code, once a machine.
#include "vcap/loading/fetch_once.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <vector>

#include "loading/resources/resource_scope.hpp"
#include "support/bounded_wait.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path) << content;
}

class FetchOnce : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const ResourceOptions options_{.cache = (folder_ / "cache").native()};
};

TEST_F(FetchOnce, CallsOnceAndGivesTheSameFolderAgain) {
  const ResourceScope scope(options_);
  int calls = 0;
  const auto fetch = [&](const std::string& folder) {
    ++calls;
    write(folder + "/model.onnx", "weights");
  };
  const std::string first = fetch_once("model-3", fetch);
  EXPECT_EQ(first, (folder_ / "cache/fetched/model-3").native());
  EXPECT_EQ(content_of(first + "/model.onnx"), "weights");
  EXPECT_EQ(fetch_once("model-3", fetch), first);
  EXPECT_EQ(calls, 1);
  fetch_once("model-4", fetch);
  EXPECT_EQ(calls, 2) << "another name";
}

TEST_F(FetchOnce, KeepsNothingOfAFetchThatFailsAndTriesAgain) {
  const ResourceScope scope(options_);
  const auto failing = [](const std::string& folder) {
    write(folder + "/half", "x");
    throw std::runtime_error("the server is away");
  };
  EXPECT_THAT([&] { fetch_once("model", failing); },
              testing::ThrowsMessage<std::runtime_error>("the server is away"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cache/fetched/model"));
  const std::string folder =
      fetch_once("model", [](const std::string& into) { write(into + "/whole", "x"); });
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().native());
  EXPECT_THAT(names, ElementsAre("whole"));
}

TEST_F(FetchOnce, DropsWhatAKilledProcessHasLeft) {
  const ResourceScope scope(options_);
  folder_.write("cache/fetched/.model.part/half", "x");
  const std::string folder = fetch_once(
      "model", [](const std::string& into) { EXPECT_TRUE(std::filesystem::is_empty(into)); });
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(FetchOnce, LetsOtherThreadsWait) {
  constexpr int kThreads = 6;
  Meeting start(kThreads);
  std::atomic<int> calls = 0;
  std::vector<std::future<std::string>> results;
  for (int i = 0; i < kThreads; ++i)
    results.push_back(std::async(std::launch::async, [&] {
      const ResourceScope scope(options_);
      start.arrive_and_wait("the other threads");
      return fetch_once("model", [&](const std::string& folder) {
        ++calls;
        write(folder + "/model", "weights");
      });
    }));
  for (auto& result : results) EXPECT_EQ(content_of(result.get() + "/model"), "weights");
  EXPECT_EQ(calls, 1);
}

TEST_F(FetchOnce, LetsOtherProcessesWait) {
  constexpr int kProcesses = 4;
  const std::string log = (folder_ / "log").native();
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const ResourceScope scope(options_);
      const std::string folder = fetch_once("model", [&](const std::string& into) {
        std::ofstream(log, std::ios::app) << "fetched\n";
        ::usleep(50'000);  // so that the others come meanwhile
        write(into + "/model", "weights");
      });
      ::_exit(content_of(folder + "/model") == "weights" ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(content_of(log), "fetched\n");
}

TEST_F(FetchOnce, IsRefusedWithoutACallIfTheHostIsOffline) {
  ResourceOptions offline = options_;
  offline.offline = true;
  const ResourceScope scope(offline);
  const auto unwanted = [](const std::string&) { ADD_FAILURE(); };
  EXPECT_THAT(
      [&] { fetch_once("model", unwanted); },
      ThrowsError<ResourceError>(ErrorCode::resource_offline,
                                 AllOf(HasSubstr("vcap is offline"), HasSubstr("fetched/model"))));
  std::filesystem::create_directories(folder_ / "cache/fetched/model");
  EXPECT_NO_THROW(fetch_once("model", unwanted)) << "it was put there by hand";
}

TEST_F(FetchOnce, RefusesNamesThatAreNoFolderOfItsOwn) {
  const ResourceScope scope(options_);
  for (const std::string& name : {std::string(), std::string(".model.lock"), std::string(".."),
                                  std::string("a/b"), std::string("mod el"), std::string(201, 'a')})
    EXPECT_THAT([&] { fetch_once(name, [](const std::string&) {}); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("fetch_once")));
}

TEST_F(FetchOnce, NamesTheFolderThatCannotBeWritten) {
  folder_.write("cache", "a file in place of the folder");
  const ResourceScope scope(options_);
  EXPECT_THAT([&] { fetch_once("model", [](const std::string&) {}); },
              ThrowsError<ResourceError>(ErrorCode::resource_cache, HasSubstr("cache/fetched")));
}

}  // namespace
}  // namespace vcap::test
