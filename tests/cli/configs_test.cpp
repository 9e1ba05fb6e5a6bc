// SPDX-License-Identifier: Apache-2.0
// How the command handles schemas of configs, and device sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "loading/capsule_builder.hpp"

namespace vcap {
namespace {

using test::CapsuleBuilder;
using test::images;
using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Runs a capsule that declares config schemas, on two streams, "a" and "b".
class ConfiguredRun : public testing::Test {
 protected:
  ConfiguredRun() {
    const Result result =
        test::vcap({"pack", "--library", test::plugin_path("configured"), "--output", capsule_});
    EXPECT_EQ(result.exit_code, 0) << result;
  }

  Result run(std::vector<std::string> more) {
    std::vector<std::string> words{"run",      "--capsule", capsule_,  "--source", source("a"),
                                   "--source", source("b"), "--jsonl", "-"};
    words.insert(words.end(), more.begin(), more.end());
    return test::vcap(words);
  }
  std::string source(const std::string& name) const { return images(folder_, name, 1); }

  const TemporaryFolder folder_;
  const std::string capsule_ = (folder_ / "configured.cap").string();
};

/// The configs that the capsule reports, by stream.
std::map<std::string, nlohmann::json> told_by(const std::string& records) {
  std::map<std::string, nlohmann::json> told;
  std::istringstream lines(records);
  for (std::string line; std::getline(lines, line) && line.starts_with('{');) {
    const auto record = nlohmann::json::parse(line);
    told[record["stream_id"]] = record["objects"].at(0)["extra_data"];
  }
  return told;
}

TEST_F(ConfiguredRun, GivesEachStreamItsConfigOrTheCommonOne) {
  const std::string file = folder_.write("line.json", R"({"line": [3, 4]})").string();

  const Result result =
      run({"--stream-config", R"(configured={"line":[1,2],"both_ways":false})", "--stream-config",
           "b:configured=@" + file, "--config", R"(configured={"model":"large"})"});

  EXPECT_EQ(result.exit_code, 0) << result;
  auto told = told_by(result.out);
  EXPECT_EQ(told["a"]["config"], nlohmann::json({{"model", "large"}}));
  EXPECT_EQ(told["a"]["stream"], nlohmann::json({{"line", {1, 2}}, {"both_ways", false}}));
  EXPECT_EQ(told["b"]["stream"], nlohmann::json({{"line", {3, 4}}, {"both_ways", true}}));
}

struct WrongConfigs {
  std::string name;
  std::vector<std::string> arguments;
  std::string message;
};

class RunWithWrongConfigs : public ConfiguredRun,
                            public testing::WithParamInterface<WrongConfigs> {};

TEST_P(RunWithWrongConfigs, IsRefused) {
  const Result result = run(GetParam().arguments);

  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
  EXPECT_EQ(result.out, "");
}

const std::string kLine = R"(configured={"line":[1,2]})";

INSTANTIATE_TEST_SUITE_P(
    RunCommand, RunWithWrongConfigs,
    testing::Values(
        WrongConfigs{
            "AtLoad",
            {"--stream-config", kLine, "--config", R"(configured={"model":"huge"})"},
            R"(the config of capsule configured: /model is "huge", but "small" or "large")"},
        WrongConfigs{"OfAStream",
                     {"--stream-config", kLine, "--stream-config", R"(b:configured={"line":[1]})"},
                     "stream b's config of capsule configured: /line is an array of 1"},
        WrongConfigs{"Missing",
                     {"--stream-config", "b:" + kLine},
                     "stream a's config of capsule configured: /line is missing, but "},
        WrongConfigs{"NoSuchStream",
                     {"--stream-config", "c:" + kLine},
                     "there is no stream c; the streams are a, b"},
        WrongConfigs{
            "NoSuchCapsule", {"--stream-config", "other={}"}, "no capsule has the name \"other\""},
        WrongConfigs{"NoValue", {"--stream-config", "configured"}, "write stream:capsule=JSON"},
        WrongConfigs{"NoJson", {"--stream-config", "configured={"}, "the value is not JSON"},
        WrongConfigs{"TwiceForAll",
                     {"--stream-config", kLine, "--stream-config", kLine},
                     "has a config for all streams already"},
        WrongConfigs{"TwiceForOne",
                     {"--stream-config", "a:" + kLine, "--stream-config", "a:" + kLine},
                     "has a config for capsule configured already"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST_F(ConfiguredRun, RefusesAConfigForAStreamThatDoesNotUseTheCapsule) {
  const Result result = run({"--capsule", test::capsule("finder"), "--stream-capsules", "b=finder",
                             "--stream-config", "b:" + kLine});

  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("the stream does not go through that capsule"));
}

TEST_F(ConfiguredRun, RefusesAConfigForACapsuleThatKeepsNoState) {
  const Result result = test::vcap({"run", "--capsule", test::capsule("finder"), "--source",
                                    source("a"), "--stream-config", R"(finder={"zone":1})"});

  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("has no stream state that could use it"));
}

TEST_F(ConfiguredRun, IsExplainedByInspect) {
  const Result text = test::vcap({"inspect", capsule_});
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("config, given when it is loaded\n  /model: \"small\" or \"large\", "
                              "default \"small\"  Which weights\n"),
                    HasSubstr("config of a stream\n  /both_ways: true or false, default true\n"
                              "  /line: an array of at least 2, each a number, required\n")));
  const auto json = nlohmann::json::parse(test::vcap({"inspect", "--json", capsule_}).out);
  EXPECT_EQ(json["info"]["config_schema"]["properties"]["model"]["default"], "small");
  EXPECT_EQ(json["info"]["stream_config_schema"]["required"], nlohmann::json{"line"});
}

class DeviceSetCommand : public testing::Test {
 protected:
  DeviceSetCommand() {
    CapsuleBuilder capsule;
    capsule.manifest["info"].erase("device_mapper");
    capsule.set("/info/device_set", {{"kind", "GPU"}, {"count", 2}});
    capsule_ = folder_.write("pairs.cap", capsule.bytes()).string();
  }

  const TemporaryFolder folder_;
  const test::Command::Environment five_{{"VCAP_DEVICES", "CPU:0,GPU:0,GPU:1,GPU:2,GPU:3,GPU:4"}};
  std::string capsule_;
};

TEST_F(DeviceSetCommand, ShowsWhichDevicesBackendsWouldGet) {
  const Result text = test::vcap({"devices", "--capsule", capsule_}, five_);
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_EQ(text.out,
            "fixture: 2 backends of 2 GPUs; left over: GPU:4\n  GPU:0+GPU:1\n  GPU:2+GPU:3\n");
  const auto json =
      nlohmann::json::parse(test::vcap({"devices", "--json", "--capsule", capsule_}, five_).out);
  EXPECT_EQ(json["backends"], nlohmann::json::parse(R"([["GPU:0", "GPU:1"], ["GPU:2", "GPU:3"]])"));
  EXPECT_EQ(json["left_over"], nlohmann::json{"GPU:4"});
}

TEST_F(DeviceSetCommand, ShowsTheDevicesOfAnInspectedCapsule) {
  EXPECT_THAT(test::vcap({"inspect", capsule_}, five_).out,
              HasSubstr("devices   sets of 2 GPU; this machine has 2 backends of 2 GPUs; left "
                        "over: GPU:4\n"));
}

TEST_F(DeviceSetCommand, NamesTheMapperOfACapsuleWithoutASet) {
  const Result result = test::vcap({"devices", "--capsule", test::capsule("finder")}, five_);
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, AllOf(HasSubstr("finder: chosen by its own code"),
                                HasSubstr("map_to_single_cpu"), Not(HasSubstr("GPU"))));
}

}  // namespace
}  // namespace vcap
