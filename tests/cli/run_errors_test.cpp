// SPDX-License-Identifier: Apache-2.0
// vcap run on wrong input: checks the exit code, the message, and that no file is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "loading/capsule_builder.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::CapsuleBuilder;
using test::images;
using test::Result;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// The names of all files below a folder.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

/// Runs whose outputs go into their own folder.
class FailingRun : public testing::Test {
 protected:
  FailingRun() { fs::create_directories(folder_ / "out"); }

  Result run(const std::string& capsule, const std::string& source,
             std::vector<std::string> more = {}) {
    std::vector<std::string> words{"run",        "--capsule", capsule,        "--source",
                                   source,       "--jsonl",   out("a.jsonl"), "--video",
                                   out("a.avi"), "--summary", out("a.txt")};
    words.insert(words.end(), more.begin(), more.end());
    return test::vcap(words, environment_);
  }
  std::string out(const std::string& name) const { return (folder_ / "out" / name).string(); }
  std::string shots(int count = 3) const { return images(folder_, "shots", count); }

  void expect_failure(const Result& result, int exit_code, const std::string& message) {
    EXPECT_EQ(result.exit_code, exit_code) << result;
    EXPECT_THAT(result.err, StartsWith("vcap: "));
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    EXPECT_THAT(files_below(folder_ / "out"), IsEmpty());
  }

  const TemporaryFolder folder_;
  test::Command::Environment environment_;
};

struct BadCapsule {
  std::string name;
  std::function<std::string()> bytes;
  int exit_code;
  std::string message;
};

std::string no_platform() {
  CapsuleBuilder capsule;
  capsule.files.clear();
  return capsule.set("/libraries/0/platform", "plan9-mips")
      .set("/libraries/0/path", "lib/plan9-mips/capsule.so")
      .file("lib/plan9-mips/capsule.so", "code")
      .bytes();
}

std::string without_name() {
  CapsuleBuilder capsule;
  capsule.manifest["info"].erase("name");
  return capsule.bytes();
}

std::function<std::string()> plugin(const std::string& name) {
  return [name] { return CapsuleBuilder(name).bytes(); };
}

class RunOfABadCapsule : public FailingRun, public testing::WithParamInterface<BadCapsule> {};

TEST_P(RunOfABadCapsule, IsRefused) {
  const std::string capsule = folder_.write("bad.cap", GetParam().bytes()).string();

  const Result result = run(capsule, shots());

  expect_failure(result, GetParam().exit_code, GetParam().message);
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    RunCommand, RunOfABadCapsule,
    testing::Values(
        BadCapsule{"Empty", [] { return std::string(); }, 3, "is empty"},
        BadCapsule{"NotAZip", [] { return std::string("hello"); }, 3, "not a zip"},
        BadCapsule{"NoManifest",
                   [] { return test::zip_bytes({test::stored_entry("readme.txt", "hello")}); }, 3,
                   "has no capsule.json"},
        BadCapsule{"ManifestThatIsNoJson", [] { return CapsuleBuilder().bytes_with("{"); }, 3,
                   "capsule.json"},
        BadCapsule{"FieldMissing", without_name, 3, "\"name\""},
        BadCapsule{"FieldOfAWrongType",
                   [] { return CapsuleBuilder().set("/info/version", "one").bytes(); }, 3,
                   "/info/version"},
        BadCapsule{"OtherPlatform", no_platform, 4, "plan9-mips"},
        BadCapsule{"NewerApi", [] { return CapsuleBuilder().set("/api_version", 99).bytes(); }, 4,
                   "api_version 99"},
        BadCapsule{"OtherAbi",
                   [] { return CapsuleBuilder().set("/libraries/0/abi_tag", "vcap9.9").bytes(); },
                   4, "vcap9.9"},
        BadCapsule{"NoEntrySymbol", plugin("no_entry"), 3, "VCAP_CAPSULE"},
        BadCapsule{"ThrowsInItsEntry", plugin("throws_in_entry"), 3, "no licence"},
        BadCapsule{"ThrowsInInfo", plugin("throws_in_info"), 3, "no description"},
        BadCapsule{"ThrowsInItsConstructor", plugin("throws_in_constructor"), 3,
                   "constructor threw"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST_F(FailingRun, NamesACapsuleFileThatIsMissing) {
  expect_failure(run("/nowhere/a.cap", shots()), 3, "/nowhere/a.cap");
}

/// Packs a plugin. Its description must match its code, so the test cannot invent it.
std::string packed(const TemporaryFolder& folder, const std::string& plugin_name) {
  const std::string capsule = (folder / (plugin_name + ".cap")).string();
  const Result result =
      test::vcap({"pack", "--library", test::plugin_path(plugin_name), "--output", capsule});
  EXPECT_EQ(result.exit_code, 0) << result;
  return capsule;
}

TEST_F(FailingRun, NamesTheDeviceWhoseBackendDidNotLoad) {
  expect_failure(run(packed(folder_, "throws_in_load_backend"), shots()), 3, "on CPU:0: ");
}

TEST_F(FailingRun, SaysThatAMapperChoseNoDevice) {
  expect_failure(run(packed(folder_, "maps_to_nothing"), shots()), 5, "chose none of the devices");
}

TEST_F(FailingRun, SaysThatAMapperChoseAnUnknownDevice) {
  expect_failure(run(packed(folder_, "maps_to_unknown"), shots()), 5, "not among the devices");
}

TEST_F(FailingRun, SaysThatNoDeviceIsThere) {
  environment_ = {{"VCAP_DEVICES", "GPU:0"}};
  expect_failure(run(test::capsule("finder"), shots()), 5, "map_to_single_cpu chose none");
}

struct BadSetting {
  std::string name;
  std::vector<std::string> arguments;
  std::string message;
};

class RunWithABadSetting : public FailingRun, public testing::WithParamInterface<BadSetting> {};

TEST_P(RunWithABadSetting, IsRefused) {
  expect_failure(run(test::capsule("finder"), shots(), GetParam().arguments), 2,
                 GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    RunCommand, RunWithABadSetting,
    testing::Values(
        BadSetting{"OptionOfNoCapsule",
                   {"--option", "fnder.threshold=1"},
                   "no capsule has the name \"fnder\"; the capsules are finder"},
        BadSetting{"OptionUnknown", {"--option", "finder.treshold=1"}, "\"treshold\""},
        BadSetting{"OptionOfAWrongType",
                   {"--option", "finder.threshold=high"},
                   "option \"threshold\" of capsule finder"},
        BadSetting{"OptionOutOfRange", {"--option", "finder.threshold=1.7"}, "1.7 is not within"},
        BadSetting{
            "OptionWithoutValue", {"--option", "finder.threshold"}, "write capsule.name=value"},
        BadSetting{
            "OptionWithoutCapsule", {"--option", "threshold=0.5"}, "write capsule.name=value"},
        BadSetting{
            "QuarantineOfNone", {"--quarantine", "0"}, "--quarantine 0 does not have the form"},
        BadSetting{"QuarantineWithoutTime", {"--quarantine", "3:"}, "N[:WITHIN[:PAUSE]]"},
        BadSetting{"QuarantineOfText", {"--quarantine-all", "3:ten"}, "such as 3:10:30"},
        BadSetting{"QuarantineTooLong", {"--quarantine", "3:10:1e9"}, "86400 seconds"},
        BadSetting{"QuarantineOfTooMany",
                   {"--quarantine-all", "3:1:1:1"},
                   "3:1:1:1 does not have the form"},
        BadSetting{
            "ConfigOfNoCapsule", {"--config", "nobody={}"}, "no capsule has the name \"nobody\""},
        BadSetting{"ConfigThatIsNoJson", {"--config", "finder={"}, "the value is not JSON"},
        BadSetting{"ConfigThatIsNoObject", {"--config", "finder=[1]"}, "JSON of type array"},
        BadSetting{"ConfigTwice",
                   {"--config", "finder={}", "--config", "finder={}"},
                   "has a config already"},
        BadSetting{"ConfigFileMissing",
                   {"--config", "finder=@/nowhere.json"},
                   "cannot read the file /nowhere.json"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST_F(FailingRun, NamesASourceThatDoesNotExist) {
  expect_failure(run(test::capsule("finder"), "/nowhere/cam.avi"), 6, "/nowhere/cam.avi");
}

TEST_F(FailingRun, NamesASourceThatIsNoVideo) {
  const std::string text = folder_.write("notes.avi", "no video").string();
  expect_failure(run(test::capsule("finder"), text), 6, "notes.avi");
}

TEST_F(FailingRun, SaysThatStandardInputIsNoSource) {
  expect_failure(run(test::capsule("finder"), "-"), 6, "from standard input");
}

TEST_F(FailingRun, NamesASourceWithoutFrames) {
  fs::create_directories(folder_ / "empty");
  expect_failure(run(test::capsule("finder"), (folder_ / "empty").string()), 6, "has no images");
}

TEST_F(FailingRun, StartsNoStreamIfOneOfTheSourcesIsWrong) {
  expect_failure(run(test::capsule("finder"), shots(), {"--source", "/nowhere"}), 6, "/nowhere");
}

TEST_F(FailingRun, ContinuesWithoutACameraThatIsOffIfItMayConnectLater) {
  const std::string camera = "rtsp://127.0.0.1:1/off";  // no server listens there
  expect_failure(run(test::capsule("finder"), shots(), {"--source", camera}), 6, camera);

  const Result result = run(test::capsule("finder"), shots(),
                            {"--source", camera, "--connect-later", "--reconnect", "0"});
  EXPECT_EQ(result.exit_code, 6) << result;
  EXPECT_THAT(result.err, HasSubstr("could not be reached"));
  EXPECT_THAT(test::read_file(out("a.jsonl")), HasSubstr("\"frame_index\":2"));
  EXPECT_TRUE(fs::exists(out("a-shots.avi")));
}

TEST_F(FailingRun, KeepsTheRecordsBeforeASourceBroke) {
  const std::string source = shots(6);
  for (const char* image : {"shots/1.png", "shots/3.png"}) folder_.write(image, "no image");

  const Result result = run(test::capsule("finder"), source, {"--ranges", "0-5"});

  EXPECT_EQ(result.exit_code, 6) << result;
  EXPECT_THAT(result.err, HasSubstr("vcap: stream shots: "));
  EXPECT_THAT(result.err, HasSubstr("shots ends after 4 frames, but frame 4 was requested"));
  EXPECT_THAT(result.out, HasSubstr("  frames           4 in "));
  EXPECT_THAT(result.out, HasSubstr("  ended early      "));
  EXPECT_THAT(test::read_file(out("a.jsonl")), HasSubstr("\"frame_index\":3"));
}

TEST_F(FailingRun, SkipsBrokenPicturesAndSaysSo) {
  const std::string source = shots(5);
  folder_.write("shots/3.png", "no image");

  const Result result = run(test::capsule("finder"), source);

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("images in " + source + ": the picture 3.png is skipped: "));
  EXPECT_THAT(result.out, HasSubstr("  frames           4 in "));
  EXPECT_THAT(result.out, HasSubstr("  broken pictures  1 (3.png), skipped\n"));
  EXPECT_THAT(test::read_file(out("a.jsonl")),
              HasSubstr("\"frame_index\":3,\"pts_ns\":160000000,\"discontinuity\":\"gap\""));
}

TEST_F(FailingRun, ContinuesTheOtherStreamsIfOneBreaks) {
  const std::string source = shots(6);
  for (const char* image : {"shots/1.png", "shots/3.png"}) folder_.write(image, "no image");
  const std::string sound = images(folder_, "sound", 9);

  const Result result =
      run(test::capsule("finder"), source, {"--source", sound, "--ranges", "0-5"});

  EXPECT_EQ(result.exit_code, 6) << result;
  EXPECT_THAT(result.out, HasSubstr("stream sound ("));
  EXPECT_THAT(result.out, HasSubstr("  frames           5 in "));
}

struct BadOutput {
  std::string name;
  std::string option;
  std::string path;
  int exit_code;
  std::string message;
};

class RunToABadOutput : public FailingRun, public testing::WithParamInterface<BadOutput> {};

TEST_P(RunToABadOutput, IsRefusedBeforeItBegins) {
  const Result result = test::vcap({"run", "--capsule", test::capsule("finder"), "--source",
                                    shots(), GetParam().option, GetParam().path});

  expect_failure(result, GetParam().exit_code, GetParam().message);
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    RunCommand, RunToABadOutput,
    testing::Values(
        BadOutput{"RecordsIntoNoFolder", "--jsonl", "/nowhere/a.jsonl", 7, "folder /nowhere"},
        BadOutput{"ClipIntoNoFolder", "--video", "/nowhere/a.mp4", 7, "folder /nowhere"},
        BadOutput{"ClipOfAnUnknownForm", "--video", "a.gif", 7, "must be .mp4, .mkv or .avi"},
        BadOutput{"SummaryIntoNoFolder", "--summary", "/nowhere/a.txt", 7, "folder /nowhere"},
        BadOutput{"RecordsIntoAFolder", "--jsonl", "/", 7, "is a folder"}),
    [](const auto& test_info) { return test_info.param.name; });

struct BadClip {
  std::string name;
  std::vector<std::string> options;
  std::string message;
};

class RunToABadClip : public FailingRun, public testing::WithParamInterface<BadClip> {};

TEST_P(RunToABadClip, IsRefusedBeforeItBegins) {
  std::vector<std::string> words{"run", "--capsule", test::capsule("finder"), "--source", shots()};
  for (const std::string& option : GetParam().options)
    words.push_back(option.starts_with("a.") ? out(option) : option);

  const Result result = test::vcap(words);

  expect_failure(result, 2, GetParam().message);
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    RunCommand, RunToABadClip,
    testing::Values(
        BadClip{"UnknownCodec", {"--video", "a.mp4", "--video-codec", "h246"}, "--video-codec"},
        BadClip{"CodecThatTheContainerDoesNotTake",
                {"--video", "a.avi", "--video-codec", "h264"},
                "codec h264 is not allowed in .avi; allowed are mjpeg, mpeg4"},
        BadClip{"QualityOutOfRange",
                {"--video", "a.mp4", "--video-quality", "52"},
                "quality 52 of codec h264 is not within 0 to 51"},
        BadClip{"QualityThatIsNoNumber",
                {"--video", "a.mp4", "--video-quality", "good"},
                "--video-quality"},
        BadClip{"CodecWithoutAClip", {"--video-codec", "h264"}, "--video"},
        BadClip{
            "UnknownPartToDraw",
            {"--video", "a.mp4", "--draw", "boxes,trail"},
            "part \"trail\" is not known; did you mean \"trails\"? (known: \"blur\", \"boxes\""},
        BadClip{"NothingToDraw", {"--video", "a.mp4", "--draw", "boxes,"}, "--draw"},
        BadClip{"PartsWithoutAClip", {"--draw", "boxes"}, "--video or --view"},
        BadClip{"ZonesWithoutRules", {"--video", "a.mp4", "--draw", "zones"}, "--events"},
        BadClip{"PartsOnAPicture",
                {"--video", "a.mp4", "--draw", "boxes", "--picture", "mask"},
                "--picture"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST_F(FailingRun, SaysThatTheDiskIsFull) {
  const Result result = test::vcap(
      {"run", "--capsule", test::capsule("finder"), "--source", shots(), "--jsonl", "/dev/full"});

  EXPECT_EQ(result.exit_code, 7) << result;
  EXPECT_THAT(result.err, HasSubstr("output /dev/full cannot be written further"));
}

TEST_F(FailingRun, ContinuesWithoutAnOutputThatFailsIfAllowed) {
  const Result result =
      test::vcap({"run", "--capsule", test::capsule("finder"), "--source", shots(), "--jsonl",
                  "/dev/full", "--when-output-fails", "skip"});

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, HasSubstr("  frames           3 in "));
  EXPECT_THAT(result.out, HasSubstr("records lost to /dev/full: failed 3; the last failure: output "
                                    "/dev/full cannot be written further"));
}

TEST_F(FailingRun, ReportsNoLossesIfThereAreNone) {
  const Result result = run(test::capsule("finder"), shots(), {"--when-output-fails", "skip"});

  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, testing::Not(HasSubstr("lost")));
  EXPECT_THAT(test::read_file(out("a.jsonl")), HasSubstr("\"frame_index\":2"));
  EXPECT_TRUE(fs::exists(out("a.avi")));
}

TEST_F(FailingRun, RefusesAnUnknownPolicyForOutputFailures) {
  expect_failure(run(test::capsule("finder"), shots(), {"--when-output-fails", "panic"}), 2,
                 "--when-output-fails");
}

TEST_F(FailingRun, DoesNotWriteOverItsSource) {
  shots(1);
  const std::string source = (folder_ / "shots/0.png").string();
  const std::string before = test::read_file(source);

  const Result result = test::vcap(
      {"run", "--capsule", test::capsule("finder"), "--source", source, "--jsonl", source});

  expect_failure(result, 2, "would replace it");
  EXPECT_EQ(test::read_file(source), before);
}

TEST_F(FailingRun, DoesNotWriteTwoOutputsIntoOneFile) {
  const Result result =
      test::vcap({"run", "--capsule", test::capsule("finder"), "--source", shots(), "--jsonl",
                  out("same"), "--summary", (folder_ / "out/./same").string()});

  expect_failure(result, 2, "is given twice");
}

class WrongResultCount : public FailingRun, public testing::WithParamInterface<int> {};

TEST_P(WrongResultCount, FailsEveryFrameAndTheRun) {
  const Result result =
      run(test::capsule("finder"), shots(),
          {"--config", "finder={\"extra_results\":" + std::to_string(GetParam()) + "}"});

  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.err, HasSubstr("vcap: a capsule failed on every frame; the first: frame 0: "
                                    "capsule finder: "));
  EXPECT_THAT(test::read_file(out("a.jsonl")), HasSubstr("\"code\":\"batch_result_count\""));
}

INSTANTIATE_TEST_SUITE_P(RunCommand, WrongResultCount, testing::Values(-1, 1));

}  // namespace
}  // namespace vcap
