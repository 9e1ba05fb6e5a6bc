// SPDX-License-Identifier: Apache-2.0
// vcap fetch, and how other commands handle resources.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "files/digest.hpp"
#include "loading/capsule_builder.hpp"
#include "support/resource_server.hpp"

namespace vcap {
namespace {

using test::Command;
using test::Result;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kModel = "weights of many bytes";

class FetchCommand : public testing::Test {
 protected:
  nlohmann::json list(const std::string& behaviour) const {
    server.write("model.bin", kModel);
    return nlohmann::json::array({{{"name", "model.bin"},
                                   {"url", server.url(behaviour, "model.bin")},
                                   {"sha256", digest},
                                   {"size", kModel.size()}}});
  }
  /// A capsule that needs the server's file and whose code is never run.
  std::string capsule(const std::string& behaviour) const {
    return folder
        .write(
            "a.cap",
            test::CapsuleBuilder("throws_in_entry").set("/info/resources", list(behaviour)).bytes())
        .native();
  }
  std::string cache() const { return (folder / "cache").native(); }
  std::string in_cache() const { return cache() + "/resources/" + digest; }

  const test::ResourceServer server;
  const test::TemporaryFolder folder;
  const std::string digest = sha256(std::as_bytes(std::span(kModel)));
};

TEST_F(FetchCommand, FetchesAndPrintsThePath) {
  const std::string path = capsule("ok");
  for (int i = 0; i < 2; ++i) {
    const Result result = test::vcap({"fetch", path, "--cache", cache()});
    EXPECT_EQ(result.exit_code, 0) << result;
    EXPECT_EQ(result.out, "model.bin  " + in_cache() + "\n");
    EXPECT_EQ(result.err, "");
  }
  EXPECT_EQ(test::read_file(in_cache()), kModel);
  EXPECT_THAT(server.log("ok", "model.bin"), ElementsAre("-"));
}

TEST_F(FetchCommand, ReadsCacheAndMirrorFromTheEnvironment) {
  const std::string path = capsule("404");
  server.write(digest, kModel);
  const Result result = test::vcap(
      {"fetch", path}, {{"VCAP_CACHE", cache()}, {"VCAP_RESOURCE_MIRROR", server.url("ok", "")}});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(server.log("ok", digest), ElementsAre("-"));
  EXPECT_THAT(server.log("404", "model.bin"), IsEmpty());
}

TEST_F(FetchCommand, FetchesOnceForTwoProcessesAtOnce) {
  const std::string path = capsule("gate");
  Command first({"fetch", path, "--cache", cache()});
  Command second({"fetch", path, "--cache", cache()});
  while (server.log("gate", "model.bin").empty()) {
  }
  server.open_gate();
  for (Command* const command : {&first, &second}) {
    const Result result = command->wait();
    EXPECT_EQ(result.exit_code, 0) << result;
    EXPECT_EQ(result.out, "model.bin  " + in_cache() + "\n");
  }
  EXPECT_THAT(server.log("gate", "model.bin"), ElementsAre("-"));
}

TEST_F(FetchCommand, WorksAfterAnotherProcessWasKilled) {
  const std::string path = capsule("gate");
  {
    Command killed({"fetch", path, "--cache", cache()});
    while (server.log("gate", "model.bin").empty()) {
    }
  }
  server.open_gate();
  const Result result = test::vcap({"fetch", path, "--cache", cache()});
  EXPECT_EQ(result.exit_code, 0) << result;
}

TEST_F(FetchCommand, SaysWhyItFailsInOneLine) {
  const Result result = test::vcap({"fetch", capsule("404"), "--cache", cache()});
  EXPECT_EQ(result.exit_code, 8) << result;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "vcap: resource \"model.bin\" of capsule file \"" +
                            (folder / "a.cap").native() + "\": " + server.url("404", "model.bin") +
                            ": the server answered 404; check the URL\n");
}

TEST_F(FetchCommand, NamesTheMissingFileAndItsPathWhenOffline) {
  const Result result = test::vcap({"fetch", capsule("ok"), "--cache", cache(), "--offline"});
  EXPECT_EQ(result.exit_code, 8) << result;
  EXPECT_THAT(result.err,
              HasSubstr("put the file with SHA-256 " + digest + " and 21 bytes at " + in_cache()));
  EXPECT_THAT(server.log("ok", "model.bin"), IsEmpty());
}

TEST_F(FetchCommand, RefusesAnInvalidMirror) {
  const Result result =
      test::vcap({"fetch", capsule("ok"), "--cache", cache(), "--mirror", "mirror.example"});
  EXPECT_EQ(result.exit_code, 2) << result;
}

TEST_F(FetchCommand, PrintsNothingForACapsuleWithoutResources) {
  const std::string path =
      folder.write("a.cap", test::CapsuleBuilder("throws_in_entry").bytes()).native();
  const Result result = test::vcap({"fetch", path, "--cache", cache()});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(result.out, "");
}

TEST_F(FetchCommand, IsNotNeededBeforeRun) {
  nlohmann::json resources = list("ok");
  resources[0]["name"] = "models/weights.bin";  // the name that the plugin uses
  const std::string path = (folder / "b.cap").native();
  const Command::Environment environment{{"VCAP_TEST_RESOURCES", resources.dump()}};
  ASSERT_EQ(test::vcap({"pack", "--library", test::plugin_path("resourceful"), "--output", path},
                       environment)
                .exit_code,
            0);
  const auto run = [&](const std::string& option) {
    std::vector<std::string> words{"run",          "--capsule",        path,   "--source",
                                   "/nowhere.avi", "--resource-cache", cache()};
    if (!option.empty()) words.push_back(option);
    return test::vcap(words, environment);
  };
  EXPECT_EQ(run("--offline").exit_code, 8);
  EXPECT_EQ(run("").exit_code, 6);  // the resource is there, the source is not
  EXPECT_EQ(run("--offline").exit_code, 6);
  EXPECT_THAT(server.log("ok", "model.bin"), ElementsAre("-"));
}

TEST_F(FetchCommand, IsNotNeededBeforeInspect) {
  const std::string path = capsule("ok");
  const Result text = test::vcap({"inspect", path});
  EXPECT_THAT(text.out, AllOf(HasSubstr("resources, fetched when it is loaded\n"),
                              HasSubstr("  model.bin  21 bytes  sha256 " + digest + "  " +
                                        server.url("ok", "model.bin") + "\n")));
  const Result as_json = test::vcap({"inspect", "--json", path});
  EXPECT_EQ(nlohmann::json::parse(as_json.out).at("info").at("resources"), list("ok"));
}

}  // namespace
}  // namespace vcap
