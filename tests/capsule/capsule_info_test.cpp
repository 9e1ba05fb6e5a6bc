// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/capsule_info.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;
using Size = NodeDescription::Size;

struct BadInfo {
  std::string name;
  std::function<void(CapsuleInfo&)> spoil;
  std::string complaint;
};

const std::vector<BadInfo> kBadInfos{
    BadInfo{"EmptyName", [](auto& info) { info.name = ""; }, "name \"\" of a capsule: use letters"},
    BadInfo{"NameWithASpace", [](auto& info) { info.name = "a b"; }, "name \"a b\""},
    BadInfo{"NameWithAnUmlaut", [](auto& info) { info.name = "d\xc3\xa9t"; }, "use letters A-Z"},
    BadInfo{"VersionZero", [](auto& info) { info.version = 0; },
            "capsule detector_fake: version 0 is not allowed; count versions from 1"},
    BadInfo{"OptionNameWithADot", [](auto& info) { info.options["a.b"] = BoolOption{}; },
            "option name \"a.b\""},
    BadInfo{"OptionDefaultOutOfRange",
            [](auto& info) { info.options["t"] = IntOption{.default_value = 9, .max = 3}; },
            "option \"t\" of capsule detector_fake"},
    BadInfo{"InputOfSizeNoneThatDescribesNodes",
            [](auto& info) { info.input_type.detections = {"person"}; },
            "input_type describes nodes but has size none"},
    BadInfo{"OutputOfSizeNone", [](auto& info) { info.output_type.size = Size::none; },
            "output_type has size none; set it to single or all"},
    BadInfo{"OutputOfSizeNoneThatDescribesNodes",
            [](auto& info) {
              info.output_type.size = Size::none;
              info.gives_pictures = {{.name = "mask"}};
            },
            "output_type describes nodes but has size none"},
    BadInfo{"PictureWithASpace", [](auto& info) { info.gives_pictures = {{.name = "a b"}}; },
            "gives_pictures has the name \"a b\"; use letters"},
    BadInfo{"PictureThatItTakesAndGives",
            [](auto& info) {
              info.takes_pictures = {{.name = "mask"}};
              info.gives_pictures = {{.name = "mask"}};
            },
            "gives_pictures, picture \"mask\": the name occurs twice"},
    BadInfo{"PictureOfNoType",
            [](auto& info) { info.takes_pictures = {{.name = "mask", .type = -1}}; },
            "takes_pictures, picture \"mask\": type -1 is none of OpenCV's"},
    BadInfo{
        "PictureOfFixedSizeWithoutASize",
        [](auto& info) { info.gives_pictures = {{.name = "mask", .size = PictureSize::fixed}}; },
        "fixed_size is 0 × 0 and size is fixed"},
    BadInfo{"PictureOfTheFramesSizeWithASize",
            [](auto& info) {
              info.gives_pictures = {{.name = "mask", .fixed_size = {2, 2}}};
            },
            "fixed_size is 2 × 2 and size is frame"},
    BadInfo{"PicturesOfSingleNodes",
            [](auto& info) {
              info.input_type = {.size = Size::single, .detections = {"person"}};
              info.gives_pictures = {{.name = "mask"}};
            },
            "it is called once for each node"},
    BadInfo{"WindowWithPicturesWithoutThePresentFrame",
            [](auto& info) {
              info.takes_pictures = {{.name = "mask"}};
              info.stencil = Stencil{.offsets = {-1}};
            },
            "stencil lacks offset 0, but the capsule takes pictures"},
    BadInfo{"OutputWithoutDetections", [](auto& info) { info.output_type.detections.clear(); },
            "output_type.detections is empty; list the names"},
    BadInfo{"DetectionTwice",
            [](auto& info) {
              info.output_type.detections = {"cat", "dog", "cat"};
            },
            "output_type.detections lists \"cat\" twice"},
    BadInfo{"DetectionWithoutName", [](auto& info) { info.output_type.detections = {""}; },
            "output_type.detections lists an empty name"},
    BadInfo{"DetectionThatIsNotUtf8", [](auto& info) { info.output_type.detections = {"\xff"}; },
            "output_type.detections: the name \"\xff\" is not UTF-8"},
    BadInfo{"AttributeThatIsNotUtf8",
            [](auto& info) { info.output_type.attributes["\xff"] = {"red"}; }, "is not UTF-8"},
    BadInfo{"ExtraDataTwice",
            [](auto& info) {
              info.output_type.extra_data = {"x", "x"};
            },
            "output_type.extra_data lists \"x\" twice"},
    BadInfo{"AttributeValueTwice",
            [](auto& info) {
              info.output_type.attributes["color"] = {"red", "red"};
            },
            "output_type.attributes[\"color\"] lists \"red\" twice"},
    BadInfo{"AttributeWithoutValues", [](auto& info) { info.output_type.attributes["color"] = {}; },
            "output_type.attributes[\"color\"] allows no value"},
    BadInfo{"AttributeWithoutName", [](auto& info) { info.output_type.attributes[""] = {"red"}; },
            "has an empty name"},
    BadInfo{"InputDetectionTwice",
            [](auto& info) {
              info.input_type = {.size = Size::all, .detections = {"cat", "cat"}};
            },
            "input_type.detections lists \"cat\" twice"},
    BadInfo{"DeviceSetOfNoKind",
            [](auto& info) {
              info.device_set = {"G PU", 2};
            },
            "device_set has the kind \"G PU\"; use letters"},
    BadInfo{"DeviceSetOfNone",
            [](auto& info) {
              info.device_mapper = {};
              info.device_set = {"GPU", 0};
            },
            "device_set has a count of 0; a backend needs 1 device or more"},
    BadInfo{
        "DeviceSetBesideAMapper",
        [](auto& info) {
          info.device_set = {"GPU", 2};
        },
        "device_set and the device mapper map_to_all_gpus are both given; leave one of them out"},
    BadInfo{"StateKeptWhereThereIsNone",
            [](auto& info) { info.keeps_state_at = {Discontinuity::gap}; },
            "keeps_state_at is given, but there is no stream_state to keep"},
    BadInfo{"StateKeptAtTheStart",
            [](auto& info) {
              info.stream_state = make_stream_state<BaseStreamState>();
              info.keeps_state_at = {Discontinuity::start};
            },
            "keeps_state_at lists start; a state can be kept at gap, seek, reconnect and loop"},
    BadInfo{"StateKeptTwice",
            [](auto& info) {
              info.stream_state = make_stream_state<BaseStreamState>();
              info.keeps_state_at = {Discontinuity::gap, Discontinuity::gap};
            },
            "keeps_state_at lists gap twice"},
    BadInfo{
        "EncoderWithoutThreshold", [](auto& info) { info.output_type.encoded = true; },
        "output_type is encoded but recognition_threshold is absent; give the largest distance"},
    BadInfo{"NegativeThreshold", [](auto& info) { info.recognition_threshold = -1; },
            "recognition_threshold -1"},
    BadInfo{
        "InfiniteThreshold",
        [](auto& info) { info.recognition_threshold = std::numeric_limits<double>::infinity(); },
        "recognition_threshold inf"},
    BadInfo{
        "ThresholdThatIsNoNumber",
        [](auto& info) { info.recognition_threshold = std::numeric_limits<double>::quiet_NaN(); },
        "is not allowed; give a finite distance of 0 or more"},
    BadInfo{"NoConcurrentCall", [](auto& info) { info.max_concurrent_calls = 0; },
            "max_concurrent_calls 0 is not at least 1"},
    BadInfo{"ResourceNameWithABackslash",
            [](auto& info) { info.resources = {{test::resource("a\\b")}}; },
            "resource \"a\\\\b\": name \"a\\\\b\" has a character other than"},
    BadInfo{"ResourceTwice",
            [](auto& info) {
              info.resources = {test::resource("model.bin"), test::resource("model.bin")};
            },
            "resource \"model.bin\" occurs twice; give each resource its own name"}};

class RefusedInfo : public testing::TestWithParam<BadInfo> {};

TEST_P(RefusedInfo, IsReportedWithItsRemedy) {
  CapsuleInfo info = test::detector_info();
  GetParam().spoil(info);

  const auto error = test::error_of<InvalidCapsuleError>([&] { check(info); });

  EXPECT_EQ(error.code(), ErrorCode::invalid_capsule_info);
  EXPECT_THAT(error.what(), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(CapsuleInfo, RefusedInfo, testing::ValuesIn(kBadInfos),
                         [](const auto& test_info) { return test_info.param.name; });

TEST(CapsuleInfo, AcceptsADetector) { EXPECT_NO_THROW(check(test::detector_info())); }

TEST(CapsuleInfo, AcceptsAnEncoderWithAThresholdOfZero) {
  CapsuleInfo info = test::detector_info();
  info.output_type.encoded = true;
  info.recognition_threshold = 0;

  EXPECT_NO_THROW(check(info));
}

TEST(CapsuleInfo, NeedsNoThresholdToPassEncodingsOn) {
  CapsuleInfo info = test::detector_info();
  info.input_type = {.size = Size::all, .detections = {"person"}, .encoded = true};
  info.output_type = {
      .size = Size::all, .detections = {"person"}, .encoded = true, .tracked = true};

  EXPECT_NO_THROW(check(info));
}

CapsuleInfo full_info() {
  return {.name = "encoder_fake",
          .version = 3,
          .description = "Encodes persons.",
          .input_type = {.size = Size::all, .detections = {"person"}},
          .output_type = {.size = Size::single,
                          .detections = {"person"},
                          .attributes = {{"color", {"red", "blue"}}},
                          .encoded = true,
                          .tracked = true,
                          .extra_data = {"score"}},
          .takes_pictures = {{.name = "mask", .type = CV_8UC1, .size = PictureSize::any}},
          .gives_pictures = {{.name = "depth",
                              .type = CV_32FC1,
                              .size = PictureSize::fixed,
                              .fixed_size = {256, 144}}},
          .options = {{"threshold", FloatOption{.default_value = 0.5, .min = 0.0, .max = 1.0}},
                      {"mode", EnumOption{.default_value = "a", .choices = {"a", "b"}}}},
          .device_mapper = DeviceMapper::map_to_all_gpus(),
          .config_schema = {{"required", {"model"}}},
          .stream_config_schema = {{"minProperties", 1}},
          .stream_state = make_stream_state<BaseStreamState>(),
          .keeps_state_at = {Discontinuity::gap, Discontinuity::loop},
          .max_concurrent_calls = 3,
          .recognition_threshold = 0.25,
          .resources = {test::resource("models/large.onnx"), test::resource("labels.txt")}};
}

TEST(CapsuleInfo, IsTheSameAfterWritingAndReadingJson) {
  const CapsuleInfo info = full_info();

  const auto read = nlohmann::json::parse(nlohmann::json(info).dump()).get<CapsuleInfo>();

  EXPECT_EQ(read.name, info.name);
  EXPECT_EQ(read.version, info.version);
  EXPECT_EQ(read.description, info.description);
  EXPECT_EQ(read.input_type, info.input_type);
  EXPECT_EQ(read.output_type, info.output_type);
  EXPECT_EQ(read.takes_pictures, info.takes_pictures);
  EXPECT_EQ(read.gives_pictures, info.gives_pictures);
  EXPECT_EQ(read.options, info.options);
  EXPECT_EQ(read.device_mapper.name(), "map_to_all_gpus");
  EXPECT_EQ(read.config_schema, info.config_schema);
  EXPECT_EQ(read.stream_config_schema, info.stream_config_schema);
  EXPECT_TRUE(read.stream_state);
  EXPECT_EQ(read.keeps_state_at, info.keeps_state_at);
  EXPECT_EQ(read.max_concurrent_calls, info.max_concurrent_calls);
  EXPECT_EQ(read.recognition_threshold, info.recognition_threshold);
  EXPECT_EQ(read.resources, info.resources);
  EXPECT_EQ(nlohmann::json(read), nlohmann::json(info));
}

TEST(CapsuleInfo, HasAnOutputWithoutNamesInJson) {
  CapsuleInfo info = test::detector_info();
  info.input_type = {.size = Size::all, .tracked = true};
  info.output_type = {.size = Size::all, .tracked = true, .extra_data = {"speed"}};
  check(info);

  const auto read = nlohmann::json::parse(nlohmann::json(info).dump()).get<CapsuleInfo>();

  EXPECT_EQ(read.input_type, info.input_type);
  EXPECT_EQ(read.output_type, info.output_type);
  EXPECT_NO_THROW(check(read));
}

TEST(CapsuleInfo, HasADeviceSetInJsonInsteadOfAMapper) {
  CapsuleInfo info = full_info();
  info.device_mapper = {};
  info.device_set = {.kind = "GPU", .count = 2};

  const nlohmann::json json = info;

  EXPECT_FALSE(json.contains("device_mapper"));
  EXPECT_EQ(json.get<CapsuleInfo>().device_set, info.device_set);
  EXPECT_NO_THROW(check(json.get<CapsuleInfo>()));
}

TEST(CapsuleInfo, LeavesOutAbsentFieldsInJson) {
  const nlohmann::json json = test::detector_info();

  EXPECT_FALSE(json.contains("recognition_threshold"));
  EXPECT_FALSE(json.contains("max_concurrent_calls"));
  EXPECT_FALSE(json.contains("resources"));
  EXPECT_FALSE(json.contains("device_set"));
  EXPECT_FALSE(json.contains("config_schema"));
  EXPECT_FALSE(json.contains("stream_config_schema"));
  EXPECT_EQ(json["stateful"], false);
  EXPECT_FALSE(json.get<CapsuleInfo>().recognition_threshold);
  EXPECT_FALSE(json.get<CapsuleInfo>().stream_state);
}

TEST(CapsuleInfo, FromJsonHasFunctionsThatRefuseToRun) {
  const auto read = nlohmann::json(full_info()).get<CapsuleInfo>();

  EXPECT_THROW(read.stream_state(StreamInfo{}), InvalidArgument);
  EXPECT_THROW(read.device_mapper.map({"CPU:0"}), InvalidArgument);
}

TEST(CapsuleInfo, FromJsonIgnoresUnknownFields) {
  nlohmann::json json = full_info();
  json["of_a_later_version"] = true;

  EXPECT_EQ(json.get<CapsuleInfo>().name, "encoder_fake");
}

struct BadJson {
  std::string name;
  std::string pointer;
  nlohmann::json value;  ///< null: removes the field that the pointer names
  std::string complaint;
};

class RefusedJson : public testing::TestWithParam<BadJson> {};

TEST_P(RefusedJson, IsReportedByItsPointer) {
  nlohmann::json json = full_info();
  const nlohmann::json::json_pointer pointer(GetParam().pointer);
  if (GetParam().value.is_null())
    json.at(pointer.parent_pointer()).erase(pointer.back());
  else
    json[pointer] = GetParam().value;

  const auto error = test::error_of<InvalidArgument>([&] { (void)json.get<CapsuleInfo>(); });

  EXPECT_THAT(error.what(), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    CapsuleInfo, RefusedJson,
    testing::Values(
        BadJson{"NameMissing", "/name", nullptr, R"(the field "name" is missing)"},
        BadJson{"NameANumber", "/name", 7, R"(/name: a string is needed, but it is 7)"},
        BadJson{"VersionAText", "/version", "1", R"(/version: )"},
        BadJson{"VersionAFraction", "/version", 1.5, R"(/version: )"},
        BadJson{"VersionTooLarge", "/version", 1e10, R"(/version: )"},
        BadJson{"VersionOfSixtyFourBits", "/version", 99999999999,
                R"(/version: a whole number of 32 bits is needed, but it is 99999999999)"},
        BadJson{"DescriptionMissing", "/description", nullptr,
                R"(the field "description" is missing)"},
        BadJson{"InputTypeMissing", "/input_type", nullptr, R"(the field "input_type" is missing)"},
        BadJson{"InputTypeAList", "/input_type", nlohmann::json::array(),
                R"(/input_type: an object is needed, but it is an array of 0)"},
        BadJson{"OutputSizeUnknown", "/output_type/size", "many", R"(/output_type/size: )"},
        BadJson{"OptionsAList", "/options", nlohmann::json::array(),
                R"(/options: an object is needed)"},
        BadJson{"OptionOfUnknownKind", "/options/mode/kind", "colour", R"(/options/mode/kind: )"},
        BadJson{"MapperMissing", "/device_mapper", nullptr,
                R"(the field "device_mapper" is missing)"},
        BadJson{"MapperEmpty", "/device_mapper", "",
                R"(/device_mapper: the name of a device mapper is needed, but it is "")"},
        BadJson{"DeviceSetWithoutCount",
                "/device_set",
                {{"kind", "GPU"}},
                R"(/device_set: the field "count" is missing)"},
        BadJson{"DeviceSetOfAFraction",
                "/device_set",
                {{"kind", "GPU"}, {"count", 1.5}},
                R"(/device_set/count: )"},
        BadJson{"KeepsStateAtNothingKnown", "/keeps_state_at", nlohmann::json{"start"},
                R"(/keeps_state_at/0: gap, seek, reconnect or loop is needed, but it is "start")"},
        BadJson{"StatefulANumber", "/stateful", 1,
                R"(/stateful: true or false is needed, but it is 1)"},
        BadJson{"ThresholdAText", "/recognition_threshold", "x",
                R"(/recognition_threshold: a number is needed)"},
        BadJson{"ResourcesAnObject", "/resources", nlohmann::json::object(),
                R"(/resources: an array is needed)"},
        BadJson{"ResourceWithoutUrl", "/resources/1/url", nullptr,
                R"(/resources/1: the field "url" is missing)"},
        BadJson{"ResourceOfNegativeSize", "/resources/0/size", -1,
                R"(/resources/0/size: a whole number from 1 is needed, but it is -1)"},
        BadJson{"ResourceOfAFractionsSize", "/resources/0/size", 1.5, R"(/resources/0/size: )"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST(CapsuleInfo, RefusesJsonThatIsNoObject) {
  EXPECT_THROW((void)nlohmann::json("text").get<CapsuleInfo>(), InvalidArgument);
}

}  // namespace
}  // namespace vcap
