// SPDX-License-Identifier: Apache-2.0
// vcap pack, unpack and inspect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "loading/capsule_builder.hpp"
#include "support/paths.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::plugin_path;
using test::read_file;
using test::Result;
using test::TemporaryFolder;
using testing::HasSubstr;

TEST(PackCommand, WritesWhatUnpackGivesBack) {
  const TemporaryFolder folder;
  const std::string model = folder.write("model_v3.onnx", "weights").string();
  const std::string capsule = (folder / "a.cap").string();

  const Result packed = test::vcap({"pack", "--library", plugin_path("good"), "--file",
                                    "model.onnx=" + model, "--file", model, "--output", capsule});
  const Result unpacked = test::vcap({"unpack", capsule, (folder / "out").string()});

  EXPECT_EQ(packed.exit_code, 0) << packed;
  EXPECT_EQ(packed.out, "packed " + capsule + ": fixture version 1, 3 files\n");
  EXPECT_EQ(unpacked.exit_code, 0) << unpacked;
  EXPECT_EQ(read_file(folder / "out/model.onnx"), "weights");
  EXPECT_EQ(read_file(folder / "out/model_v3.onnx"), "weights");
  EXPECT_EQ(read_file(folder / "out/" / test::library_entry()), read_file(plugin_path("good")));
}

TEST(PackCommand, PacksALibraryForTheNamedPlatform) {
  const TemporaryFolder folder;
  const std::string capsule = (folder / "a.cap").string();

  const Result packed =
      test::vcap({"pack", "--library", std::string(platform()) + "=" + plugin_path("good"),
                  "--output", capsule});

  EXPECT_EQ(packed.exit_code, 0) << packed;
}

struct Refused {
  std::string name;
  std::vector<std::string> arguments;
  int exit_code;
  std::string message;
};

class RefusedPacking : public testing::TestWithParam<Refused> {};

TEST_P(RefusedPacking, LeavesNoFile) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments{"pack", "--output", (folder / "a.cap").string()};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());

  const Result result = test::vcap(arguments);

  EXPECT_EQ(result.exit_code, GetParam().exit_code) << result;
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

INSTANTIATE_TEST_SUITE_P(
    PackCommand, RefusedPacking,
    testing::Values(
        Refused{"FileTwice",
                {"--library", plugin_path("good"), "--file", "a=x", "--file", "a=y"},
                2,
                "--file a=y: \"a\" is given already, as x"},
        Refused{"FileMissing",
                {"--library", plugin_path("good"), "--file", "/nowhere/model.onnx"},
                2,
                "/nowhere/model.onnx"},
        Refused{"LibraryMissing", {"--library", "/nowhere/a.so"}, 2, "/nowhere/a.so"},
        Refused{"LibraryWithoutEntry", {"--library", plugin_path("no_entry")}, 3, "VCAP_CAPSULE"},
        Refused{"EncoderWithoutThreshold",
                {"--library", plugin_path("encoder_without_threshold")},
                3,
                "recognition_threshold"},
        Refused{
            "LibraryThatThrows", {"--library", plugin_path("throws_in_info")}, 3, "no description"},
        Refused{"LibraryOfAnotherAbi", {"--library", plugin_path("other_abi")}, 4, "vcap9.9"},
        Refused{"LibraryOfANewerApi", {"--library", plugin_path("newer_api")}, 4, "API version 2"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST(PackCommand, SaysThatTheOutputsFolderDoesNotExist) {
  const Result result =
      test::vcap({"pack", "--library", plugin_path("good"), "--output", "/nowhere/a.cap"});

  EXPECT_EQ(result.exit_code, 7) << result;
  EXPECT_THAT(result.err, HasSubstr("/nowhere"));
}

TEST(UnpackCommand, LeavesANonEmptyFolderAlone) {
  const TemporaryFolder folder;
  folder.write("out/mine.txt", "mine");

  const Result result = test::vcap({"unpack", test::capsule("finder"), (folder / "out").string()});

  EXPECT_EQ(result.exit_code, 7) << result;
  EXPECT_EQ(read_file(folder / "out/mine.txt"), "mine");
}

TEST(InspectCommand, ShowsADescriptionForPeople) {
  const Result result = test::vcap({"inspect", test::capsule("colorist")});

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("colorist version 1\n"));
  EXPECT_THAT(result.out, HasSubstr("takes     one person\n"));
  EXPECT_THAT(result.out, HasSubstr("gives     one person; color (red, blue); encoded\n"));
  EXPECT_THAT(result.out, HasSubstr("fits this machine"));
}

TEST(InspectCommand, ShowsOptionsWithTheirBounds) {
  const Result result = test::vcap({"inspect", test::capsule("finder")});

  EXPECT_THAT(result.out, HasSubstr("threshold: a number from 0.1 to 1, default 0.5"));
}

TEST(InspectCommand, ShowsTheManifestAsJson) {
  const Result result = test::vcap({"inspect", "--json", test::capsule("follower")});

  const auto manifest = nlohmann::json::parse(result.out);
  EXPECT_EQ(manifest.at("/info/name"_json_pointer), "follower");
  EXPECT_EQ(manifest.at("/info/stateful"_json_pointer), true);
}

TEST(InspectCommand, ReportsErrorsAsJson) {
  const TemporaryFolder folder;
  const auto climbs = folder.write(
      "a.cap",
      test::CapsuleBuilder("no code", fixture::info("fixture")).file("../evil", "x").bytes());
  const Result result = test::vcap({"inspect", "--json", climbs.string()});

  EXPECT_EQ(result.exit_code, 3) << result;
  const auto error = nlohmann::json::parse(result.out).at("error");
  EXPECT_EQ(error.at("code"), 403);
  EXPECT_EQ(error.at("name"), "unsafe_entry");
  EXPECT_EQ(error.at("stage"), "archive");
  EXPECT_EQ(error.at("entry"), "../evil");
  EXPECT_THAT(error.at("detail"), HasSubstr("component \"..\""));
}

TEST(InspectCommand, KeepsUnknownFieldsAndReportsThem) {
  const TemporaryFolder folder;
  const auto newer = folder.write(
      "a.cap",
      test::CapsuleBuilder("no code", fixture::info("fixture")).set("/info/colour", "red").bytes());
  EXPECT_THAT(test::vcap({"inspect", newer.string()}).out, HasSubstr("  /info/colour\n"));
  const Result json = test::vcap({"inspect", "--json", newer.string()});
  EXPECT_EQ(nlohmann::json::parse(json.out).at("/info/colour"_json_pointer), "red");
  EXPECT_THAT(json.err, HasSubstr("/info/colour"));
}

TEST(InspectCommand, LetsNoControlCharacterReachTheTerminal) {
  const TemporaryFolder folder;
  auto info = fixture::info("fixture");
  info.description = "harmless\x1b[2J\x1b]0;owned\x07";
  const auto capsule = folder.write("a.cap", test::CapsuleBuilder("no code", info).bytes());
  const Result result = test::vcap({"inspect", capsule.string()});

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("harmless\\x1b[2J"));
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
}

TEST(InspectCommand, RunsNoCodeOfTheCapsule) {
  const TemporaryFolder folder;
  const std::string library = test::built("tests/cli/ends_on_load.so");
  const auto capsule = folder.write(
      "a.cap", test::CapsuleBuilder(read_file(library), fixture::info("fixture")).bytes());
  // Packing runs its code, which ends the process.
  ASSERT_EQ(
      test::vcap({"pack", "--library", library, "--output", (folder / "b.cap").string()}).exit_code,
      10);

  EXPECT_EQ(test::vcap({"inspect", "--verify", capsule.string()}).exit_code, 0);
  EXPECT_EQ(test::vcap({"plan", "--capsule", capsule.string()}).exit_code, 0);
  EXPECT_EQ(test::vcap({"unpack", capsule.string(), (folder / "out").string()}).exit_code, 0);
}

TEST(InspectCommand, VerifiesEveryFile) {
  const Result result = test::vcap({"inspect", "--verify", test::capsule("finder")});

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out,
              HasSubstr("verified: size and SHA-256 of its only file match the manifest\n"));
}

TEST(InspectCommand, FindsAFileThatWasChanged) {
  const TemporaryFolder folder;
  test::CapsuleBuilder builder;
  const std::string manifest = builder.file("model.onnx", "weights").listed().dump();
  const auto capsule =
      folder.write("a.cap", builder.file("model.onnx", "WEIGHTS").bytes_with(manifest));

  const Result result = test::vcap({"inspect", "--verify", capsule.string()});

  EXPECT_EQ(result.exit_code, 3) << result;
  EXPECT_THAT(result.err, HasSubstr("\"model.onnx\""));
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace vcap
