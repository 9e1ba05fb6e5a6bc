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

TEST_F(ConfiguredRun, RefusesAConfigForACapsuleWithoutStateAndParameters) {
  const Result result = test::vcap({"run", "--capsule", test::capsule("finder"), "--source",
                                    source("a"), "--stream-config", R"(finder={"zone":1})"});

  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err,
              HasSubstr("has neither a stream state nor stream parameters that could use it"));
}

TEST(StreamConfigOfParameters, DiffersFromStreamToStream) {
  const TemporaryFolder folder;
  const auto run_zoned = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"run",
                                   "--capsule",
                                   test::capsule("zoned"),
                                   "--source",
                                   images(folder, "a", 2),
                                   "--source",
                                   images(folder, "b", 2),
                                   "--jsonl",
                                   "-"};
    words.insert(words.end(), more.begin(), more.end());
    return test::vcap(words);
  };

  const Result own = run_zoned({"--stream-config", R"(b:zoned={"zone":"door"})"});
  EXPECT_EQ(own.exit_code, 0) << own;
  EXPECT_EQ(told_by(own.out)["a"]["zone"], "everywhere");
  EXPECT_EQ(told_by(own.out)["b"]["zone"], "door");

  const Result common = run_zoned({"--stream-config", R"(zoned={"zone":"yard"})", "--stream-config",
                                   R"(b:zoned={"zone":"door"})"});
  EXPECT_EQ(common.exit_code, 0) << common;
  EXPECT_EQ(told_by(common.out)["a"]["zone"], "yard");
  EXPECT_EQ(told_by(common.out)["b"]["zone"], "door");

  const Result wrong = run_zoned({"--stream-config", R"(b:zoned={"zone":1})"});
  EXPECT_EQ(wrong.exit_code, 2) << wrong;
  EXPECT_THAT(wrong.err, HasSubstr("stream b's config of capsule zoned: /zone is 1"));
}

/// What the capsule "windowed" saw of each of three frames.
std::vector<std::string> windows_of(const std::string& stencil) {
  const TemporaryFolder folder;
  std::vector<std::string> words{
      "run",     "--capsule", test::capsule("windowed"), "--source", images(folder, "a", 3),
      "--jsonl", "-"};
  if (!stencil.empty()) words.insert(words.end(), {"--stencil", "windowed=" + stencil});
  const Result result = test::vcap(words);
  EXPECT_EQ(result.exit_code, 0) << result;
  std::vector<std::string> windows;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line) && line.starts_with('{');)
    windows.push_back(
        nlohmann::json::parse(line)["objects"].at(0)["extra_data"]["seen"].get<std::string>());
  return windows;
}

TEST(StencilOfTheHost, ReplacesThatOfTheCapsule) {
  EXPECT_THAT(windows_of(""), testing::ElementsAre("0 0", "0 1", "1 2"));
  EXPECT_THAT(windows_of("-2,0,1"), testing::ElementsAre("0 0 1", "0 1 2", "0 2 2"));
  EXPECT_THAT(windows_of("1:null"), testing::ElementsAre("1", "2", "-"));
}

TEST(StencilOfTheHost, IsRefusedWithTheValueIfItIsWrong) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "a", 1);
  const struct {
    const char* argument;
    const char* complaint;
  } cases[] = {
      {"windowed", "write capsule=offset,offset"},
      {"windowed=-1,x", "\"x\" is not an offset"},
      {"windowed=-1,0:wrap", "\"wrap\" is not an edge"},
      {"windowed=", "stencil has no offsets"},
      {"windowed=0,0", "stencil lists offset 0 twice"},
      {"windowed=2000", "stencil offset 2000 is not within -1000 to 1000"},
      {"finder=-1,0", "capsule finder has no stencil"},
      {"other=-1,0", "no capsule has the name \"other\""},
  };
  for (const auto& [argument, complaint] : cases) {
    const Result result =
        test::vcap({"run", "--capsule", test::capsule("windowed"), "--capsule",
                    test::capsule("finder"), "--source", source, "--stencil", argument});
    EXPECT_EQ(result.exit_code, 2) << argument << result;
    EXPECT_THAT(result.err, HasSubstr(complaint));
  }
}

TEST(MostCalls, AreRefusedWithTheValueIfTheyAreWrong) {
  const TemporaryFolder folder;
  const std::string source = images(folder, "a", 1);
  const std::pair<const char*, const char*> cases[] = {
      {"finder", "write capsule=N"},
      {"finder=", "write capsule=N"},
      {"finder=-1", "write capsule=N"},
      {"finder=2x", "write capsule=N"},
      {"other=1", "no capsule has the name \"other\""}};
  for (const auto& [argument, complaint] : cases) {
    const Result result = test::vcap(
        {"run", "--capsule", test::capsule("finder"), "--source", source, "--max-calls", argument});
    EXPECT_EQ(result.exit_code, 2) << argument << result;
    EXPECT_THAT(result.err, HasSubstr(complaint));
  }
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

TEST_F(DeviceSetCommand, ShowsSetsOfTwoKinds) {
  CapsuleBuilder capsule;
  capsule.manifest["info"].erase("device_mapper");
  const auto set = nlohmann::json::parse(
      R"({"kind": "GPU", "count": 2, "with": [{"kind": "CPU", "count": 1}]})");
  capsule.set("/info/device_set", set);
  const std::string path = folder_.write("kinds.cap", capsule.bytes()).string();

  const Result text = test::vcap({"devices", "--capsule", path}, five_);
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_EQ(text.out,
            "fixture: 1 backend of 2 GPUs and 1 CPU; left over: GPU:2, GPU:3, GPU:4\n"
            "  GPU:0+GPU:1+CPU:0\n");
  const auto json =
      nlohmann::json::parse(test::vcap({"devices", "--json", "--capsule", path}, five_).out);
  EXPECT_EQ(json["device_set"], set);
  EXPECT_EQ(json["backends"], nlohmann::json::parse(R"([["GPU:0", "GPU:1", "CPU:0"]])"));
  EXPECT_EQ(json["left_over"], nlohmann::json::parse(R"(["GPU:2", "GPU:3", "GPU:4"])"));
}

TEST_F(DeviceSetCommand, ShowsTheDevicesOfAnInspectedCapsule) {
  EXPECT_THAT(test::vcap({"inspect", capsule_}, five_).out,
              HasSubstr("devices   sets of 2 GPUs; this machine has 2 backends of 2 GPUs; left "
                        "over: GPU:4\n"));
}

TEST_F(DeviceSetCommand, ListsTheDevicesThatAMapperOfVcapChooses) {
  const Result text = test::vcap({"devices", "--capsule", test::capsule("finder")}, five_);
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_EQ(text.out, "finder: 1 backend, by map_to_single_cpu\n  CPU:0\n");
  const auto json = nlohmann::json::parse(
      test::vcap({"devices", "--json", "--capsule", test::capsule("finder")}, five_).out);
  EXPECT_EQ(json["device_mapper"], "map_to_single_cpu");
  EXPECT_EQ(json["backends"], nlohmann::json::parse(R"([["CPU:0"]])"));

  const Result none =
      test::vcap({"devices", "--capsule", test::capsule("finder")}, {{"VCAP_DEVICES", "GPU:0"}});
  EXPECT_EQ(none.exit_code, 5) << none;
  EXPECT_THAT(none.err, HasSubstr("map_to_single_cpu chose none of the devices found"));
}

TEST_F(DeviceSetCommand, NamesAMapperOfTheCapsulesOwn) {
  CapsuleBuilder capsule;
  capsule.set("/info/device_mapper", "the_authors_own");
  const std::string own = folder_.write("own.cap", capsule.bytes()).string();
  const Result text = test::vcap({"devices", "--capsule", own}, five_);
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr(": chosen by its own code when it is loaded, by the_authors_own"),
                    Not(HasSubstr("GPU"))));
  const auto json =
      nlohmann::json::parse(test::vcap({"devices", "--json", "--capsule", own}, five_).out);
  EXPECT_FALSE(json.contains("backends"));
}

}  // namespace
}  // namespace vcap
