// SPDX-License-Identifier: Apache-2.0
// Capsules that name resources, loaded as a host loads them.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <future>

#include <nlohmann/json.hpp>

#include "files/digest.hpp"
#include "loading/capsule_builder.hpp"
#include "support/bounded_wait.hpp"
#include "support/resource_server.hpp"
#include "support/throws_error.hpp"
#include "vcap/loading/fetch_resources.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using test::CapsuleBuilder;
using test::small_frame;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kWeights = "weights of many bytes";

class LoadResources : public testing::Test {
 protected:
  ~LoadResources() override { ::unsetenv("VCAP_TEST_RESOURCES"); }

  Resource weights(const std::string& behaviour) const {
    server.write("weights.bin", kWeights);
    return {.name = "models/weights.bin",
            .url = server.url(behaviour, "weights.bin"),
            .sha256 = sha256(std::as_bytes(std::span(kWeights))),
            .size = kWeights.size()};
  }
  /// Packs a capsule that needs these resources.
  std::filesystem::path capsule(const std::vector<Resource>& resources,
                                std::map<std::string, std::string> files = {}) const {
    json list = json::array();
    for (const Resource& resource : resources)
      list.push_back({{"name", resource.name},
                      {"url", resource.url},
                      {"sha256", resource.sha256},
                      {"size", resource.size}});
    ::setenv("VCAP_TEST_RESOURCES", list.dump().c_str(), 1);
    PackageContents contents{
        .libraries = {{std::string(platform()), test::plugin_path("resourceful")}}};
    for (const auto& [name, content] : files)
      contents.files[name] =
          folder.write("input-" + std::to_string(contents.files.size()), content);
    package_capsule(contents, folder / "a.cap");
    return folder / "a.cap";
  }
  LoadOptions load_options() const {
    return {.resources = {.cache = folder / "cache", .attempts = 2, .wait = [](auto) {}}};
  }

  const test::ResourceServer server;
  const test::TemporaryFolder folder;
};

TEST_F(LoadResources, GivesResourcesToHooksAndBackendsAmongTheFiles) {
  const auto loaded = load_capsule(capsule({weights("ok")}, {{"labels.txt", "a"}}), load_options());
  const DetectionNodes nodes = loaded->process_frame(small_frame());
  const json report = nodes.begin()->extra_data.at("report");
  EXPECT_EQ(report.at("fetched"), json({"labels.txt", "models/weights.bin"}));
  EXPECT_EQ(report.at("weights"), kWeights);
}

TEST_F(LoadResources, GivesTheHostsCacheToWhatTheCapsuleFetchesItself) {
  const auto path = capsule({weights("ok")});
  const auto log = folder / "fetch.log";
  for (const char* const load : {"first load", "second load"}) {
    SCOPED_TRACE(load);
    ::setenv("VCAP_TEST_FETCH_ONCE", "model-3", 1);
    ::setenv("VCAP_TEST_FETCH_LOG", log.c_str(), 1);
    const auto loaded = load_capsule(path, load_options());
    ::unsetenv("VCAP_TEST_FETCH_ONCE");
    ::unsetenv("VCAP_TEST_FETCH_LOG");
    const DetectionNodes nodes = loaded->process_frame(small_frame());
    EXPECT_EQ(nodes.begin()->extra_data.at("report").at("fetched"),
              (folder / "cache/fetched/model-3").native());
    EXPECT_TRUE(std::filesystem::exists(folder / "cache/fetched/model-3/model"));
    EXPECT_EQ(test::read_file(log), "fetched\n");
  }
}

TEST_F(LoadResources, FetchesOnceForManyLoads) {
  const auto path = capsule({weights("ok")});
  constexpr int kThreads = 6;
  test::Meeting start(kThreads);
  std::vector<std::future<std::shared_ptr<Capsule>>> loads;
  for (int i = 0; i < kThreads; ++i)
    loads.push_back(std::async(std::launch::async, [&] {
      start.arrive_and_wait("the other loads");
      return load_capsule(path, load_options());
    }));
  for (auto& load : loads) EXPECT_NE(load.get(), nullptr);
  EXPECT_THAT(server.log("ok", "weights.bin"), ElementsAre("-"));
}

TEST_F(LoadResources, FailsAllWaitingLoadsWithTheReason) {
  const auto path = capsule({weights("404")});
  constexpr int kThreads = 6;
  test::Meeting start(kThreads);
  std::vector<std::future<std::string>> loads;
  for (int i = 0; i < kThreads; ++i)
    loads.push_back(std::async(std::launch::async, [&] {
      start.arrive_and_wait("the other loads");
      try {
        load_capsule(path, load_options());
      } catch (const ResourceError& error) {
        return std::string(error.what());
      }
      return std::string();
    }));
  for (auto& load : loads) EXPECT_THAT(load.get(), HasSubstr("the server answered 404"));
}

TEST_F(LoadResources, FailsWithStageNameCapsuleReasonAndRemedy) {
  const auto path = capsule({weights("404")});
  try {
    load_capsule(path, load_options());
    FAIL() << "it loads";
  } catch (const ResourceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::resource_unavailable);
    EXPECT_EQ(error.stage(), LoadStage::resources);
    EXPECT_EQ(error.entry(), "models/weights.bin");
    EXPECT_THAT(error.what(), AllOf(HasSubstr("resource \"models/weights.bin\" of capsule file "),
                                    HasSubstr("a.cap"), HasSubstr(server.url("404", "weights.bin")),
                                    HasSubstr("the server answered 404; check the URL")));
  }
}

TEST_F(LoadResources, NamesTheMissingFileWhenOffline) {
  LoadOptions options = load_options();
  options.resources.offline = true;
  const auto path = capsule({weights("ok")});
  EXPECT_THAT([&] { load_capsule(path, options); },
              ThrowsError<ResourceError>(ErrorCode::resource_offline,
                                         HasSubstr((folder / "cache/resources").native())));
  fetch_resources(path, load_options());
  EXPECT_NO_THROW(load_capsule(path, options));
}

TEST_F(LoadResources, CanBeFetchedWhenAHostIsInstalled) {
  const std::filesystem::path file = capsule({weights("ok")});
  const std::filesystem::path state = folder.path();
  std::string shown;
  {
    // [host]
    // Where the host is installed:
    vcap::LoadOptions options;
    options.resources.cache = state / "models";
    for (const vcap::FetchedResource& one : vcap::fetch_resources(file, options))
      shown += one.resource.name + " is " + one.path + "\n";

    // Where it runs, which reaches nothing:
    options.resources.offline = true;
    const auto capsule = vcap::load_capsule(file, options);
    // [/host]
    EXPECT_NE(capsule, nullptr);
  }
  EXPECT_THAT(shown, HasSubstr("models/weights.bin is "));
}

TEST_F(LoadResources, FetchesNothingWithoutInferenceMode) {
  LoadOptions options = load_options();
  options.inference_mode = false;
  const auto loaded = load_capsule(capsule({weights("404")}), options);
  EXPECT_THAT(loaded->info().resources, SizeIs(1));
  EXPECT_THAT(server.log("404", "weights.bin"), IsEmpty());
}

TEST_F(LoadResources, DoesNotUseTheCacheForACapsuleWithoutResources) {
  LoadOptions options = load_options();
  options.resources.attempts = 0;  // would be refused if it were checked
  const std::string bytes = CapsuleBuilder("good").bytes();
  EXPECT_NO_THROW(load_capsule(std::as_bytes(std::span(bytes)), options));
}

TEST_F(LoadResources, RefusesAnInvalidOption) {
  LoadOptions options = load_options();
  options.resources.mirror = "ftp://mirror.example";
  const auto path = capsule({weights("ok")});
  EXPECT_THAT([&] { load_capsule(path, options); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("the mirror of resources")));
}

TEST_F(LoadResources, HoldsResourcesWhileTheCapsuleLives) {
  LoadOptions options = load_options();
  options.resources.cache_bytes = kWeights.size() + 1;
  auto loaded = load_capsule(capsule({weights("ok")}), options);
  Resource other = weights("ok");
  server.write("other.bin", "other");
  other.url = server.url("ok", "other.bin");
  other.sha256 = sha256(std::as_bytes(std::span("other", 5)));
  other.size = 5;
  const auto path = capsule({other});
  EXPECT_THAT([&] { load_capsule(path, options); },
              ThrowsError<ResourceError>(ErrorCode::resource_cache, HasSubstr("close capsules")));
  loaded.reset();
  EXPECT_NO_THROW(load_capsule(path, options));
}

TEST_F(LoadResources, FetchGivesTheFilesAndRunsNoCode) {
  const Resource wanted = weights("ok");
  const std::string bytes = CapsuleBuilder("throws_in_entry")
                                .set("/info/resources", json::array({{{"name", wanted.name},
                                                                      {"url", wanted.url},
                                                                      {"sha256", wanted.sha256},
                                                                      {"size", wanted.size}}}))
                                .bytes();
  const auto fetched = fetch_resources(folder.write("b.cap", bytes), load_options());
  ASSERT_THAT(fetched, SizeIs(1));
  EXPECT_EQ(fetched[0].resource, wanted);
  EXPECT_EQ(test::read_file(fetched[0].path), kWeights);
}

TEST_F(LoadResources, RefusesAResourceWithTheNameOfAFile) {
  const Resource wanted = weights("ok");
  EXPECT_THAT(
      [&] {
        capsule({wanted}, {{"models/Weights.bin", ""}});
      },
      ThrowsError<InvalidCapsuleError>(
          ErrorCode::invalid_manifest,
          AllOf(HasSubstr("/info/resources"), HasSubstr("differ only in case"))));
  EXPECT_THAT(
      [&] {
        capsule({wanted}, {{"models", ""}});
      },
      ThrowsError<InvalidCapsuleError>(ErrorCode::invalid_manifest,
                                       HasSubstr("is a file and the folder of")));
}

}  // namespace
}  // namespace vcap
