// SPDX-License-Identifier: Apache-2.0
// Tests of the command with valid and invalid command lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

using test::Result;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(CommandLine, PrintsTheVersion) {
  const Result result = test::vcap({"--version"});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "vcap " + std::string(version()) + "\n");
}

TEST(CommandLine, PrintsItsCommandsAndExitCodes) {
  const Result result = test::vcap({"--help"});

  EXPECT_EQ(result.exit_code, 0);
  for (const char* word :
       {"run", "plan", "eval", "fetch", "pack", "unpack", "inspect", "devices", "sources",
        "Exit codes", "10 a capsule ended the process", "130 vcap run"})
    EXPECT_THAT(result.out, HasSubstr(word));
}

TEST(CommandLine, PrintsItsHelpIfNothingIsGiven) {
  const Result result = test::vcap({});

  EXPECT_EQ(result.exit_code, 2) << "a script that forgot the arguments must notice";
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(result.err, test::vcap({"--help"}).out);
}

struct Wrong {
  std::string name;
  std::vector<std::string> arguments;
  std::string message;
};

class WrongCommandLine : public testing::TestWithParam<Wrong> {};

TEST_P(WrongCommandLine, IsExplainedInOneLineWithExitCode2) {
  const Result result = test::vcap(GetParam().arguments);

  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, StartsWith("vcap: "));
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "more than one line: " << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, WrongCommandLine,
    testing::Values(
        Wrong{"UnknownCommand",
              {"rum"},
              "there is no command \"rum\"; did you mean \"run\"? See vcap --help"},
        Wrong{"UnrelatedCommand",
              {"xylophone"},
              "there is no command \"xylophone\"; see vcap --help"},
        Wrong{"UnknownCommandOfAGroup",
              {"cluster", "statos"},
              "there is no command \"statos\"; did you mean \"status\"? See vcap cluster --help"},
        Wrong{"GroupWithoutCommand", {"cluster"}, "see vcap cluster --help"},
        Wrong{"OptionOfACommandOfAGroup",
              {"stream", "list", "--clustr", "nats://x"},
              "did you mean \"--cluster\"? See vcap stream list --help"},
        Wrong{"CommandOfAGroupWithoutOption",
              {"stream", "list"},
              "--cluster is required; see vcap stream list --help"},
        Wrong{"UnknownFlag",
              {"devices", "--yaml"},
              "there is no option \"--yaml\"; see vcap devices --help"},
        Wrong{"MisspeltOption",
              {"run", "a.cap", "b.mp4", "--jsonk=out.jsonl"},
              "there is no option \"--jsonk\"; did you mean \"--jsonl\"? See vcap run --help"},
        Wrong{"MisspeltFlag", {"--verson"}, "did you mean \"--version\"? See vcap --help"},
        Wrong{"StrayWord",
              {"devices", "all"},
              "the argument \"all\" is not expected; see vcap devices"},
        Wrong{"RunWithoutCapsule",
              {"run", "--source", "0"},
              "a capsule (CAPSULE.cap or --capsule PATH) is required; see vcap run"},
        Wrong{"RunWithoutSource",
              {"run", "--capsule", "a.cap"},
              "a source (SOURCE or --source SOURCE) is required"},
        Wrong{"PlanWithoutCapsule", {"plan"}, "a capsule (CAPSULE or --capsule PATH) is required"},
        Wrong{"NoFrames",
              {"run", "--capsule", "a", "--source", "b", "--max-frames", "0"},
              "--max-frames: Value 0 not in range 1 to "},
        Wrong{"FramesThatAreNoNumber",
              {"run", "--capsule", "a", "--source", "b", "--max-frames", "all"},
              "--max-frames"},
        Wrong{"PictureWithoutVideo",
              {"run", "--capsule", "a", "--source", "b", "--picture", "mask"},
              "--picture requires --video"},
        Wrong{"PackWithoutOutput", {"pack", "--library", "a.so"}, "--output is required"},
        Wrong{"InspectWithoutCapsule", {"inspect"}, "capsule is required"},
        Wrong{"UnpackWithoutFolder", {"unpack", "a.cap"}, "folder is required"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST(DevicesCommand, ListsTheCpu) {
  const Result result = test::vcap({"devices"});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("CPU:0"));
}

TEST(DevicesCommand, ListsTheEnvironmentsDevicesAsJson) {
  const Result result = test::vcap({"devices", "--json"}, {{"VCAP_DEVICES", "GPU:1,CPU:0"}});

  const auto devices = nlohmann::json::parse(result.out);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0]["name"], "GPU:1");
  EXPECT_EQ(devices[1]["name"], "CPU:0");
}

TEST(DevicesCommand, RefusesAnEnvironmentWithAnInvalidDeviceName) {
  const Result result = test::vcap({"devices"}, {{"VCAP_DEVICES", "cuda"}});

  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("vcap: VCAP_DEVICES: \"cuda\" is not a device name"));
}

TEST(DevicesCommand, SaysThatItsOutputCouldNotBeWritten) {
  const Result result = test::Command({"devices"}, {.standard_output = "/dev/full"}).wait();

  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.err, HasSubstr("standard output could not be written"));
}

}  // namespace
}  // namespace vcap
